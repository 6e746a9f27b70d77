//! Command line, environment and `altiplano.toml`, in this order of precedence, down to the settings of a server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};
use engine::Mechanisms;
use serde::Deserialize;

use crate::client::connection::Place;

/// An OLTP database server that speaks the MySQL protocol.
#[derive(Debug, Parser)]
#[command(name = "altiplano", version, about, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    /// What to do; `serve` when left away.
    #[command(subcommand)]
    pub command: Option<Action>,
    /// Options of `serve`.
    #[command(flatten)]
    pub serve: ServeOptions,
}

/// What is wrong with a command line, in one line.
pub fn complaint(error: &clap::Error) -> String {
    let text = error.to_string();
    let (complaint, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let complaint = complaint.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let tip = rest.lines().find_map(|line| line.trim_start().strip_prefix("tip: ")).map(|tip| format!(" ({tip})"));
    format!("{complaint}{}; --help tells more", tip.unwrap_or_default())
}

/// What the program does.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Start the server (the default).
    Serve(ServeOptions),
    /// Talk to a server: an interactive client.
    Sql(SqlOptions),
    /// Copy a running server to a directory
    Backup(crate::commands::backup::BackupOptions),
    /// Make a data directory of a backup
    Restore(crate::commands::restore::RestoreOptions),
    /// Remove archived log that is older than the backups that are kept
    PruneArchive(crate::commands::prune_archive::PruneArchiveOptions),
    /// Check a data directory that no server runs on: every page, index, row, undo and the log
    Check(crate::commands::check::CheckOptions),
    /// Write what can be read of a damaged data directory as SQL
    Salvage(crate::commands::salvage::SalvageOptions),
    /// Let a data directory use what newer formats can; older programs refuse it afterwards
    Seal(crate::commands::seal::SealOptions),
    /// Drive a server with load and measure it; prepare, run, check
    Bench(Box<crate::commands::bench::BenchOptions>),
    /// Print the version and how the program was built
    Version(crate::commands::version::VersionOptions),
}

/// Options of `serve`. Each but `--set` can also be given as `ALTIPLANO_<NAME>` (variables as `ALTIPLANO_SET_<NAME>`); `altiplano.toml` takes
/// `port`, `socket`, `bind`, `buffer_pool_size` and `[set]`.
#[derive(Debug, Default, Args)]
pub struct ServeOptions {
    /// Where the data lives; made when missing [default: altiplano-data]
    #[arg(long, value_name = "DIR", env = "ALTIPLANO_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// TCP port [default: 3306]
    #[arg(long, value_name = "N", env = "ALTIPLANO_PORT")]
    pub port: Option<u16>,
    /// Unix socket [default: altiplano.sock in the data directory]
    #[arg(long, value_name = "PATH", env = "ALTIPLANO_SOCKET")]
    pub socket: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "ADDR", env = "ALTIPLANO_BIND")]
    pub bind: Option<String>,
    /// Memory for pages, such as 512M or 4G [default: half of what is free, and of what the control group allows]
    #[arg(long, value_name = "BYTES", env = "ALTIPLANO_BUFFER_POOL_SIZE")]
    pub buffer_pool_size: Option<ByteSize>,
    /// Set a system variable; repeatable. Also `ALTIPLANO_SET_<NAME>=value`
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<Assignment>,
    /// Copy the log to this directory, for restoring to a point in time. The same as --set altiplano_log_archive=DIR [env: ALTIPLANO_LOG_ARCHIVE]
    // The environment is read where that of `set` is: below both flags.
    #[arg(long, value_name = "DIR")]
    pub log_archive: Option<PathBuf>,
    /// Settings file [default: altiplano.toml in the data directory, if it is there]
    #[arg(long, value_name = "FILE", env = "ALTIPLANO_CONFIG")]
    pub config: Option<PathBuf>,
    /// Format of a data directory that is made now, for those who may go back to an earlier release [default: the newest]
    #[arg(long, value_name = "N", env = "ALTIPLANO_NEW_FORMAT")]
    pub new_format: Option<u32>,
    /// Switch mechanisms off to measure what they are worth
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', hide = true, env = "ALTIPLANO_WITHOUT")]
    pub without: Vec<String>,
}

/// Where a server is and who asks, for the commands that talk to one.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where.
    pub place: Place,
    /// User.
    pub user: String,
}

/// The options that [`ServerOptions`] are made of; the short ones are those of the `mysql` client.
#[derive(Debug, Args)]
struct ServerArguments {
    /// Server's host; `localhost` with -S means the socket, another host means itself
    #[arg(short = 'h', long, env = "ALTIPLANO_HOST", default_value = "127.0.0.1")]
    host: String,
    /// Server's port
    #[arg(short = 'P', long, env = "ALTIPLANO_PORT", default_value_t = 3306)]
    port: u16,
    /// Unix socket instead of host and port
    #[arg(short = 'S', long, env = "ALTIPLANO_SOCKET")]
    socket: Option<PathBuf>,
    /// User
    #[arg(short, long, env = "ALTIPLANO_USER", default_value = "root")]
    user: String,
}

impl ServerArguments {
    /// The socket, or host and port: what the command line names goes before what the environment does, and a host that is not this one has
    /// no socket here.
    fn place(self, matches: &ArgMatches) -> Place {
        let is_from = |option, source| matches.value_source(option) == Some(source);
        let by_line = |option| is_from(option, ValueSource::CommandLine);
        let is_here = self.host == "localhost";
        let is_elsewhere = |source| is_from("host", source) && !is_here;
        let tcp = if by_line("socket") {
            is_elsewhere(ValueSource::CommandLine)
        } else {
            by_line("port") || is_elsewhere(ValueSource::CommandLine) || is_elsewhere(ValueSource::EnvVariable)
        };
        match self.socket {
            Some(path) if !tcp => Place::Unix(path),
            _ => Place::Tcp(self.host, self.port),
        }
    }
}

impl FromArgMatches for ServerOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = ServerArguments::from_arg_matches(matches)?;
        Ok(Self { user: given.user.clone(), place: given.place(matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ServerOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        ServerArguments::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        ServerArguments::augment_args_for_update(command)
    }
}

/// Options of `sql`; the short ones are those of the `mysql` client.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct SqlOptions {
    /// Where the server is
    #[command(flatten)]
    pub server: ServerOptions,
    /// Password; asked for when the option has no value
    #[arg(short, long, env = "ALTIPLANO_PASSWORD", num_args = 0..=1, default_missing_value = "", require_equals = false, hide_env_values = true)]
    pub password: Option<String>,
    /// Run these statements and leave
    #[arg(short, long, value_name = "SQL")]
    pub execute: Option<String>,
    /// Tables even when the output is not a terminal
    #[arg(short, long)]
    pub table: bool,
    /// Tab-separated lines even on a terminal
    #[arg(short = 'B', long)]
    pub batch: bool,
    /// No column names
    #[arg(short = 'N', long)]
    pub skip_column_names: bool,
    /// Go on after an error
    #[arg(short, long)]
    pub force: bool,
    /// Let the server read files of this machine by LOAD DATA LOCAL
    #[arg(long)]
    pub local_infile: bool,
    /// Database to use
    pub database: Option<String>,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    pub help: Option<bool>,
}

/// A number of bytes with an optional K, M, G or T.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let complaint = || format!("`{text}` is not a size such as 512M or 4G");
        let text = text.trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            "T" | "TB" | "TIB" => 40,
            _ => return Err(complaint()),
        };
        let number: u64 = digits.trim().parse().map_err(|_| complaint())?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(complaint)
    }
}

impl TryFrom<toml::Value> for ByteSize {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(text) => text.parse(),
            toml::Value::Integer(number) => u64::try_from(number).map(Self).map_err(|_| "a size is not negative".to_owned()),
            _ => Err("a size is a number or text such as \"4G\"".to_owned()),
        }
    }
}

/// `name=value` of a system variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    name: String,
    value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not name=value"))?;
        let name = variable_name(name);
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.') {
            return Err(format!("`{text}` does not begin with a variable's name"));
        }
        Ok(Self { name, value: value.trim().to_owned() })
    }
}

/// MySQL takes dashes for underscores in option names.
fn variable_name(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('-', "_")
}

/// `altiplano.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsFile {
    port: Option<u16>,
    socket: Option<PathBuf>,
    bind: Option<String>,
    buffer_pool_size: Option<ByteSize>,
    /// System variables.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
}

/// What a server is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the data lives.
    pub data_dir: PathBuf,
    /// TCP port.
    pub port: u16,
    /// Unix socket.
    pub socket: PathBuf,
    /// Address to listen on.
    pub bind: String,
    /// Memory for pages, in bytes.
    pub buffer_pool_bytes: u64,
    /// System variables, lower case, in order of their names.
    pub variables: BTreeMap<String, String>,
    /// What is switched off for measuring.
    pub mechanisms: Mechanisms,
    /// Format of a data directory that is made.
    pub new_format: u32,
}

impl Settings {
    /// Where the log is archived, if it is.
    pub fn log_archive(&self) -> Option<&str> {
        self.variables.get("altiplano_log_archive").map(String::as_str).filter(|path| !path.is_empty())
    }
}

/// Why the settings cannot be used; one line for the operator.
#[derive(Debug, PartialEq, Eq)]
pub struct BadSettings(String);

impl fmt::Display for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadSettings {}

/// Variables that tell what options are in force, and these options: set as variables they would only be shown.
const HAVE_OPTIONS: [(&str, &str); 5] = [
    ("bind_address", "bind"),
    ("datadir", "data-dir"),
    ("innodb_buffer_pool_size", "buffer-pool-size"),
    ("port", "port"),
    ("socket", "socket"),
];

impl ServeOptions {
    /// Fills what is not given from the environment's `ALTIPLANO_SET_…`, the settings file, and the defaults.
    pub fn resolve(self, environment: impl Iterator<Item = (String, String)>) -> Result<Settings, BadSettings> {
        let data_dir = self.data_dir.unwrap_or_else(|| PathBuf::from("altiplano-data"));
        let file = match &self.config {
            Some(path) => read_file(path)?,
            None => {
                let path = data_dir.join("altiplano.toml");
                if path.exists() { read_file(&path)? } else { SettingsFile::default() }
            }
        };
        let mut variables = BTreeMap::new();
        for (name, value) in file.set {
            variables.insert(variable_name(&name), plain(&name, value)?);
        }
        for (name, value) in environment {
            if let Some(name) = name.strip_prefix("ALTIPLANO_SET_") {
                variables.insert(variable_name(name), value);
            } else if name == "ALTIPLANO_LOG_ARCHIVE" {
                variables.insert("altiplano_log_archive".to_owned(), value);
            }
        }
        for assignment in self.set {
            variables.insert(assignment.name, assignment.value);
        }
        if let Some(directory) = self.log_archive {
            variables.insert("altiplano_log_archive".to_owned(), directory.display().to_string());
        }
        if let Some((name, option)) = HAVE_OPTIONS.iter().find(|(name, _)| variables.contains_key(*name)) {
            let (value, variable) = (&variables[*name], option.replace('-', "_").to_ascii_uppercase());
            return Err(BadSettings(format!("--set {name}={value}: it has an option of its own, --{option} or ALTIPLANO_{variable}")));
        }
        let mut mechanisms = Mechanisms::default();
        if let Some(unknown) = self.without.iter().find(|name| !mechanisms.switch_off(name.trim())) {
            return Err(BadSettings(format!("--without {unknown}: it knows {}", Mechanisms::NAMES.join(", "))));
        }
        let buffer_pool_bytes = self.buffer_pool_size.or(file.buffer_pool_size).map(|size| size.0);
        Ok(Settings {
            port: self.port.or(file.port).unwrap_or(3306),
            socket: self.socket.or(file.socket).unwrap_or_else(|| data_dir.join("altiplano.sock")),
            bind: self.bind.or(file.bind).unwrap_or_else(|| "127.0.0.1".to_owned()),
            buffer_pool_bytes: buffer_pool_bytes.unwrap_or_else(default_buffer_pool_bytes),
            variables,
            mechanisms,
            new_format: self.new_format.unwrap_or(engine::format::FORMAT_NEWEST),
            data_dir,
        })
    }
}

fn read_file(path: &Path) -> Result<SettingsFile, BadSettings> {
    let text = std::fs::read_to_string(path).map_err(|error| BadSettings(format!("{}: {error}", path.display())))?;
    toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        BadSettings(format!("{}, line {}: {}", path.display(), before.matches('\n').count() + 1, error.message()))
    })
}

fn plain(name: &str, value: toml::Value) -> Result<String, BadSettings> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(on) => Ok(if on { "ON" } else { "OFF" }.to_owned()),
        _ => Err(BadSettings(format!("variable `{name}` must be text, a number or a boolean"))),
    }
}

/// Largest buffer pool that is chosen without being asked for.
const POOL_BYTES_MAX: u64 = 64 << 30;
/// What is chosen where other processes leave less.
const POOL_BYTES_MIN: u64 = 128 << 20;

/// Half of the memory that is free now, and of what this process may have at all.
fn default_buffer_pool_bytes() -> u64 {
    pool_bytes(memory::bytes_available(), memory::bytes_of_machine())
}

fn pool_bytes(available: u64, machine: u64) -> u64 {
    // Whole megabytes read better in the log.
    (available / 2).clamp(POOL_BYTES_MIN, POOL_BYTES_MAX).min(machine / 2) >> 20 << 20
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> CommandLine {
        CommandLine::try_parse_from(std::iter::once("altiplano").chain(arguments.iter().copied())).expect("well formed")
    }

    #[test]
    fn sizes_have_units() {
        for (text, expect) in [("1024", 1024), ("4G", 4 << 30), ("512m", 512 << 20), ("16 KiB", 16 << 10)] {
            assert_eq!(text.parse(), Ok(ByteSize(expect)), "{text}");
        }
        for text in ["", "G", "4X", "-1", "99999999999G"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn flags_win_over_environment_over_file_over_defaults() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("altiplano.toml");
        std::fs::write(
            &file,
            "port = 4001\nbind = \"0.0.0.0\"\nbuffer_pool_size = \"1G\"\n[set]\nautocommit = false\nmax-connections = 7\nsql_mode = \"a\"\n",
        )
        .expect("written");
        let command_line = parse(&["--port", "4002", "--set", "sql_mode=c", "--data-dir", &dir.path().to_string_lossy()]);
        let environment = [("ALTIPLANO_SET_SQL_MODE", "b"), ("ALTIPLANO_SET_X", "y"), ("HOME", "/")];
        let settings =
            command_line.serve.resolve(environment.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))).expect("good settings");
        assert_eq!((settings.port, settings.bind.as_str(), settings.buffer_pool_bytes), (4002, "0.0.0.0", 1 << 30));
        let variables: Vec<_> = settings.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(variables, ["autocommit=OFF", "max_connections=7", "sql_mode=c", "x=y"]);
        assert_eq!(settings.socket, dir.path().join("altiplano.sock"));
        let archive = |arguments: &[&str]| {
            let environment = [("ALTIPLANO_LOG_ARCHIVE".to_owned(), "/environment".to_owned())];
            parse(arguments).serve.resolve(environment.into_iter()).expect("good settings").log_archive().map(str::to_owned)
        };
        assert_eq!(archive(&[]).as_deref(), Some("/environment"));
        assert_eq!(archive(&["--set", "altiplano_log_archive=/flag"]).as_deref(), Some("/flag"));
        assert_eq!(archive(&["--log-archive", "/flag"]).as_deref(), Some("/flag"));
        assert_eq!(archive(&["--set", "altiplano-log-archive=/other", "--log-archive", "/flag"]).as_deref(), Some("/flag"));
        std::fs::write(&file, "prot = 1\n").expect("written");
        let error = parse(&["--config", &file.to_string_lossy()]).serve.resolve(std::iter::empty()).expect_err("a typing error");
        assert!(error.to_string().contains("prot"), "{error}");
    }

    #[test]
    fn subcommands_and_short_options_are_those_of_mysql() {
        assert!(matches!(parse(&["version"]).command, Some(Action::Version(_))));
        assert!(matches!(parse(&["serve", "--port", "1"]).command, Some(Action::Serve(ServeOptions { port: Some(1), .. }))));
        let Some(Action::Sql(sql)) =
            parse(&["sql", "-h", "db", "-P", "13306", "-u", "bench", "-psecret", "-e", "SELECT 1", "test"]).command
        else {
            panic!("not sql")
        };
        assert_eq!((sql.server.place, sql.server.user.as_str()), (Place::Tcp("db".to_owned(), 13306), "bench"));
        assert_eq!(
            (sql.password.as_deref(), sql.execute.as_deref(), sql.database.as_deref()),
            (Some("secret"), Some("SELECT 1"), Some("test"))
        );
        assert!(CommandLine::try_parse_from(["altiplano", "--set", "nonsense"]).is_err());
    }

    #[test]
    fn variables_that_have_options_are_not_set() {
        for (arguments, environment, expect) in [
            (&["--set", "port=4444"][..], "ALTIPLANO_X", "--set port=4444: it has an option of its own, --port or ALTIPLANO_PORT"),
            (&["--set", "innodb-buffer-pool-size=1G"], "ALTIPLANO_X", "--buffer-pool-size or ALTIPLANO_BUFFER_POOL_SIZE"),
            (&["--set", "datadir=/nowhere"], "ALTIPLANO_X", "--data-dir or ALTIPLANO_DATA_DIR"),
            (&["--set", "socket=/tmp/x"], "ALTIPLANO_X", "--socket or ALTIPLANO_SOCKET"),
            (&[], "ALTIPLANO_SET_BIND_ADDRESS", "--bind or ALTIPLANO_BIND"),
        ] {
            let environment = [(environment.to_owned(), "v".to_owned())];
            let error = parse(arguments).serve.resolve(environment.into_iter()).expect_err("not so").to_string();
            assert!(error.contains(expect), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn mechanisms_are_switched_off_by_name() {
        let settings = |arguments: &[&str]| parse(arguments).serve.resolve(std::iter::empty());
        assert_eq!(settings(&[]).expect("defaults").mechanisms, Mechanisms::default());
        let off = settings(&["--without", "hybrid-view,exact-wakeups"]).expect("known names").mechanisms;
        assert_eq!((off.hybrid_view, off.exact_wakeups, off.lock_shards, off.early_lock_release), (false, false, true, true));
        let error = settings(&["--without", "gravity"]).expect_err("an unknown name").to_string();
        assert!(error.contains("gravity") && error.contains("lock-shards"), "{error}");
    }

    #[test]
    fn the_buffer_pool_has_a_sensible_default() {
        const GIB: u64 = 1 << 30;
        assert_eq!(pool_bytes(8 * GIB, 16 * GIB), 4 * GIB);
        assert_eq!(pool_bytes(8 * GIB, 2 * GIB), GIB, "within a control group, of whatever kind");
        assert_eq!(pool_bytes(10 << 20, 16 * GIB), POOL_BYTES_MIN);
        assert_eq!(pool_bytes(10 << 20, 100 << 20), 50 << 20, "never more than half of all there is");
        assert_eq!(pool_bytes(1 << 40, 1 << 40), POOL_BYTES_MAX);
        assert!(default_buffer_pool_bytes() <= memory::bytes_of_machine() / 2);
    }
}
