//! Our codec against `mysql_common`, an independent one: what we write it reads, what it writes we read.

use mysql_common::constants as theirs;
use mysql_common::io::ParseBuf;
use mysql_common::packets;
use mysql_common::proto::{Binary, MyDeserialize, MySerialize, Text};
use mysql_common::row::{Row, RowDeserializer};
use mysql_common::value::{ServerSide, Value};
use protocol::auth;
use protocol::command::Command;
use protocol::constants::{Capabilities, ColumnFlags, ColumnType, ServerStatus};
use protocol::execute::{ParamType, ParamTypes, ParamValue};
use protocol::handshake::{Greeting, HandshakeResponse, attribute_pairs};
use protocol::reply::{ErrReply, OkReply, PrepareReply, session_state, write_eof, write_infile_request};
use protocol::row::{BinaryRow, IntBytes, RowWriter, TextRow};
use protocol::{ColumnDefinition, PacketWriter};
use types::{Date, DateTime, Time};

/// The payload of the only packet in `out`.
fn payload(out: &PacketWriter) -> &[u8] {
    let bytes = out.bytes();
    let length = usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16;
    assert_eq!(bytes.len(), length + 4);
    &bytes[4..]
}

fn read<'a, T: MyDeserialize<'a>>(context: T::Ctx, bytes: &'a [u8]) -> T {
    let mut buffer = ParseBuf(bytes);
    let value = T::deserialize(context, &mut buffer).expect("their codec reads ours");
    assert!(buffer.0.is_empty(), "bytes left over: {:?}", buffer.0);
    value
}

fn written(value: &impl MySerialize) -> Vec<u8> {
    let mut out = Vec::new();
    value.serialize(&mut out);
    out
}

const ALL: Capabilities = Capabilities(0x0FFF_FFFF & !0x0800_0820);

#[test]
fn greeting_is_read_by_them() {
    let greeting = Greeting {
        server_version: b"8.0.40-altiplano",
        connection_id: 77,
        challenge: *b"abcdefghijklmnopqrst",
        capabilities: ALL,
        charset: 255,
        status: ServerStatus::AUTOCOMMIT,
        auth_plugin: auth::CACHING_SHA2_PASSWORD.as_bytes(),
    };
    let mut out = PacketWriter::new();
    greeting.write(&mut out);
    let theirs: packets::HandshakePacket<'_> = read((), payload(&out));
    assert_eq!(theirs.nonce(), greeting.challenge);
    assert_eq!(theirs.connection_id(), 77);
    assert_eq!(theirs.capabilities().bits(), ALL.bits());
    assert_eq!(theirs.auth_plugin_name_ref(), Some(&b"caching_sha2_password"[..]));
    assert_eq!(Greeting::parse(payload(&out)), Ok(greeting));
}

#[test]
fn handshake_response_of_theirs_is_read() {
    let attributes = [("_client_name", "test"), ("program", "x")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    for (database, plugin, lenenc) in
        [(None, true, true), (Some(&b"db"[..]), true, true), (Some(&b"db"[..]), false, true), (Some(&b"db"[..]), true, false)]
    {
        let mut capabilities = theirs::CapabilityFlags::CLIENT_PROTOCOL_41
            | theirs::CapabilityFlags::CLIENT_SECURE_CONNECTION
            | theirs::CapabilityFlags::CLIENT_CONNECT_ATTRS;
        capabilities.set(theirs::CapabilityFlags::CLIENT_PLUGIN_AUTH, plugin);
        capabilities.set(theirs::CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA, lenenc);
        let response = packets::HandshakeResponse::new(
            Some(&b"12345678901234567890"[..]),
            (8, 0, 40),
            Some(&b"root"[..]),
            database,
            plugin.then_some(packets::AuthPlugin::MysqlNativePassword),
            capabilities,
            Some(attributes.iter().cloned().collect()),
            1 << 24,
        );
        let bytes = written(&response);
        let ours = HandshakeResponse::parse(&bytes, ALL).expect("well formed");
        assert_eq!(ours.user, b"root");
        assert_eq!(ours.auth_response, b"12345678901234567890");
        assert_eq!(ours.database, database);
        assert_eq!(ours.auth_plugin, plugin.then_some(&b"mysql_native_password"[..]));
        assert_eq!(attribute_pairs(ours.attributes).count(), 2);
        for cut in 0..bytes.len() {
            // Never a panic; old clients may leave trailing fields away, so some prefixes are fine.
            let _ = HandshakeResponse::parse(&bytes[..cut], ALL);
        }
    }
}

#[test]
fn handshake_response_of_ours_is_read_by_them() {
    let mut attributes = Vec::new();
    protocol::handshake::put_attribute(&mut attributes, b"_client_name", b"altiplano");
    let ours = HandshakeResponse {
        capabilities: ALL,
        max_packet_bytes: 1 << 24,
        charset: 255,
        user: b"bench",
        auth_response: b"12345678901234567890",
        database: Some(b"sbtest"),
        auth_plugin: Some(auth::NATIVE_PASSWORD.as_bytes()),
        attributes: &attributes,
        zstd_level: None,
    };
    let mut out = PacketWriter::new();
    ours.write(&mut out);
    let theirs: packets::HandshakeResponse<'_> = read((), payload(&out));
    assert_eq!(theirs.user(), b"bench");
    assert_eq!(theirs.db_name(), Some(&b"sbtest"[..]));
    assert_eq!(theirs.scramble_buf(), b"12345678901234567890");
    assert_eq!(theirs.connect_attributes().expect("attributes")["_client_name"], "altiplano");
}

#[test]
fn answers_to_a_challenge_are_theirs() {
    let challenge = *b"abcdefghijklmnopqrst";
    for password in ["secret", "ü", ""] {
        let theirs = mysql_common::auth::plugins::mysql_native_password::scramble_native(&challenge, password.as_bytes());
        assert_eq!(auth::native_scramble(password.as_bytes(), &challenge), theirs.map_or(Vec::new(), |s| s.to_vec()));
        let theirs = mysql_common::auth::plugins::caching_sha2_password::scramble_sha256(&challenge, password.as_bytes());
        assert_eq!(auth::sha2_scramble(password.as_bytes(), &challenge), theirs.map_or(Vec::new(), |s| s.to_vec()));
    }
}

#[test]
fn ok_packets_are_read_by_them() {
    let mut state = Vec::new();
    session_state::put_schema(&mut state, b"sbtest");
    session_state::put_system_variable(&mut state, b"autocommit", b"OFF");
    session_state::put_state_change(&mut state);
    for capabilities in [ALL, ALL.difference(Capabilities::SESSION_TRACK)] {
        for (info, session_state) in [(&b""[..], &b""[..]), (b"Rows matched: 1", b""), (b"", &state), (b"info", &state)] {
            let ok = OkReply {
                affected_rows: 70_000,
                last_insert_id: 5,
                status: ServerStatus::AUTOCOMMIT | ServerStatus::IN_TRANS,
                warnings: 3,
                info,
                session_state,
            };
            let mut out = PacketWriter::new();
            ok.write(capabilities, &mut out);
            let their_capabilities = theirs::CapabilityFlags::from_bits_retain(capabilities.bits());
            let theirs =
                packets::OkPacketDeserializer::<packets::CommonOkPacket>::deserialize(their_capabilities, &mut ParseBuf(payload(&out)))
                    .expect("an OK packet")
                    .into_inner();
            assert_eq!((theirs.affected_rows(), theirs.last_insert_id(), theirs.warnings()), (70_000, Some(5), 3));
            assert_eq!(theirs.info_ref().unwrap_or_default(), info);
            if capabilities.contains(Capabilities::SESSION_TRACK) {
                assert_eq!(theirs.session_state_info_ref().unwrap_or_default(), session_state);
            }
            let parsed = OkReply::parse(payload(&out), capabilities).expect("an OK packet");
            assert_eq!((parsed.affected_rows, parsed.info), (70_000, info));
        }
    }
}

#[test]
fn end_of_rows_is_read_by_them() {
    let ok = OkReply { status: ServerStatus::AUTOCOMMIT, warnings: 2, ..OkReply::default() };
    let mut out = PacketWriter::new();
    ok.write_end_of_rows(ALL, &mut out);
    let flags = theirs::CapabilityFlags::from_bits_retain(ALL.bits());
    let end = packets::OkPacketDeserializer::<packets::ResultSetTerminator>::deserialize(flags, &mut ParseBuf(payload(&out)))
        .expect("an end of rows")
        .into_inner();
    assert_eq!(end.warnings(), 2);
    let old = ALL.difference(Capabilities::DEPRECATE_EOF);
    out.clear();
    ok.write_end_of_rows(old, &mut out);
    let flags = theirs::CapabilityFlags::from_bits_retain(old.bits());
    let end = packets::OkPacketDeserializer::<packets::OldEofPacket>::deserialize(flags, &mut ParseBuf(payload(&out)))
        .expect("an EOF")
        .into_inner();
    assert_eq!(end.warnings(), 2);
    out.clear();
    write_eof(ServerStatus::AUTOCOMMIT, 70_000, &mut out);
    assert_eq!(payload(&out), [0xFE, 0xFF, 0xFF, 2, 0]);
}

#[test]
fn errors_are_read_by_them() {
    let mut out = PacketWriter::new();
    ErrReply { code: 1062, sql_state: *b"23000", message: b"Duplicate entry '1' for key 't.PRIMARY'" }.write(&mut out);
    let flags = theirs::CapabilityFlags::from_bits_retain(ALL.bits());
    let error: packets::ErrPacket<'_> = read(flags, payload(&out));
    let error = error.server_error();
    assert_eq!(error.error_code(), 1062);
    assert_eq!(error.sql_state_ref().expect("a state").as_str(), "23000");
    assert_eq!(ErrReply::parse(payload(&out)).expect("an ERR packet").code, 1062);
    out.clear();
    ErrReply { code: 1, sql_state: *b"HY000", message: "é".repeat(1000).as_bytes() }.write(&mut out);
    let message = ErrReply::parse(payload(&out)).expect("an ERR packet").message;
    assert!(message.len() <= 512 && std::str::from_utf8(message).is_ok());
}

#[test]
fn prepare_reply_and_infile_request_are_read_by_them() {
    let mut out = PacketWriter::new();
    PrepareReply { statement_id: 9, column_count: 2, param_count: 300, warnings: 1 }.write(&mut out);
    let theirs: packets::StmtPacket = read((), payload(&out));
    assert_eq!((theirs.statement_id(), theirs.num_columns(), theirs.num_params(), theirs.warning_count()), (9, 2, 300, 1));
    out.clear();
    write_infile_request(b"/tmp/x.csv", &mut out);
    let theirs: packets::LocalInfilePacket<'_> = read((), payload(&out));
    assert_eq!(theirs.file_name_ref(), b"/tmp/x.csv");
}

fn column(name: &[u8], column_type: ColumnType, flags: ColumnFlags) -> ColumnDefinition<'_> {
    ColumnDefinition {
        schema: b"sbtest",
        table: b"a",
        org_table: b"sbtest1",
        name,
        org_name: b"c",
        charset: 255,
        length: 480,
        column_type,
        flags,
        decimals: 0,
    }
}

fn their_columns(columns: &[ColumnDefinition<'_>]) -> Vec<packets::Column> {
    columns
        .iter()
        .map(|column| {
            let mut out = PacketWriter::new();
            column.write(&mut out);
            assert_eq!(ColumnDefinition::parse(payload(&out)), Ok(*column));
            let theirs: packets::Column = read((), payload(&out));
            assert_eq!(theirs.name_ref(), column.name);
            assert_eq!(theirs.org_table_ref(), column.org_table);
            assert_eq!(theirs.column_type() as u8, column.column_type as u8);
            assert_eq!(theirs.flags().bits(), column.flags.bits());
            assert_eq!(
                (theirs.character_set(), theirs.column_length(), theirs.decimals()),
                (column.charset, column.length, column.decimals)
            );
            theirs
        })
        .collect()
}

/// One value of each kind, written by any row writer.
fn write_all(row: &mut impl RowWriter) {
    row.int(-5, IntBytes::One);
    row.uint(65_000, IntBytes::Two);
    row.int(-70_000, IntBytes::Four);
    row.uint(u64::MAX, IntBytes::Eight);
    row.null();
    row.double(0.1, 31);
    row.float(1.5, 31);
    row.bytes(b"text");
    row.bytes_with(|out| out.extend_from_slice(b"123.45"));
    row.bytes_with(|out| out.extend_from_slice(&[b'x'; 300]));
    row.date(Date::from_fields(2024, 2, 29));
    row.datetime(DateTime::from_fields(Date::from_fields(2024, 2, 29), 1, 2, 3, 4), 6);
    row.datetime(DateTime::ZERO, 0);
    row.time(Time::from_fields(true, 100, 1, 2, 3), 6);
    row.zerofill(7, IntBytes::Four, 5);
}

fn all_columns() -> Vec<ColumnDefinition<'static>> {
    let unsigned = ColumnFlags::UNSIGNED | ColumnFlags::NOT_NULL;
    let none = ColumnFlags::empty();
    vec![
        column(b"tiny", ColumnType::Tiny, none),
        column(b"short", ColumnType::Short, unsigned),
        column(b"long", ColumnType::Long, ColumnFlags::PRI_KEY | ColumnFlags::AUTO_INCREMENT),
        column(b"longlong", ColumnType::LongLong, unsigned),
        column(b"null", ColumnType::Long, none),
        column(b"double", ColumnType::Double, none),
        column(b"float", ColumnType::Float, none),
        column(b"string", ColumnType::VarString, ColumnFlags::MULTIPLE_KEY),
        column(b"decimal", ColumnType::NewDecimal, none),
        column(b"blob", ColumnType::Blob, ColumnFlags::BLOB | ColumnFlags::BINARY),
        column(b"date", ColumnType::Date, ColumnFlags::BINARY),
        column(b"datetime", ColumnType::DateTime, ColumnFlags::BINARY),
        column(b"zero", ColumnType::Timestamp, ColumnFlags::TIMESTAMP | ColumnFlags::ON_UPDATE_NOW),
        column(b"time", ColumnType::Time, ColumnFlags::BINARY),
        column(b"zerofill", ColumnType::Long, ColumnFlags::ZEROFILL | ColumnFlags::UNSIGNED),
    ]
}

#[test]
fn rows_are_read_by_them() {
    let columns = all_columns();
    let theirs: std::sync::Arc<[packets::Column]> = their_columns(&columns).into();
    let mut out = PacketWriter::new();
    let mut row = BinaryRow::begin(&mut out, columns.len());
    write_all(&mut row);
    row.end();
    let binary: RowDeserializer<ServerSide, Binary> = read(theirs.clone(), payload(&out));
    let row: Row = binary.into();
    let expect = vec![
        Value::Int(-5),
        Value::Int(65_000),
        Value::Int(-70_000),
        Value::UInt(u64::MAX),
        Value::NULL,
        Value::Double(0.1),
        Value::Float(1.5),
        Value::Bytes(b"text".to_vec()),
        Value::Bytes(b"123.45".to_vec()),
        Value::Bytes(vec![b'x'; 300]),
        Value::Date(2024, 2, 29, 0, 0, 0, 0),
        Value::Date(2024, 2, 29, 1, 2, 3, 4),
        Value::Date(0, 0, 0, 0, 0, 0, 0),
        Value::Time(true, 4, 4, 1, 2, 3),
        Value::Int(7),
    ];
    assert_eq!(row.unwrap(), expect);

    out.clear();
    let mut row = TextRow::begin(&mut out);
    write_all(&mut row);
    row.end();
    let text: RowDeserializer<ServerSide, Text> = read(theirs, payload(&out));
    let row: Row = text.into();
    let expect: Vec<Value> = [
        Some("-5"),
        Some("65000"),
        Some("-70000"),
        Some("18446744073709551615"),
        None,
        Some("0.1"),
        Some("1.5"),
        Some("text"),
        Some("123.45"),
        Some(&"x".repeat(300)),
        Some("2024-02-29"),
        Some("2024-02-29 01:02:03.000004"),
        Some("0000-00-00 00:00:00"),
        Some("-100:01:02.000003"),
        Some("00007"),
    ]
    .into_iter()
    .map(|text| text.map_or(Value::NULL, |text| Value::Bytes(text.as_bytes().to_vec())))
    .collect();
    assert_eq!(row.unwrap(), expect);
}

#[test]
fn executions_of_theirs_are_read() {
    let params = [
        Value::Int(-5),
        Value::UInt(u64::MAX),
        Value::NULL,
        Value::Double(0.25),
        Value::Float(0.5),
        Value::Bytes(b"abc".to_vec()),
        Value::Date(2024, 2, 29, 1, 2, 3, 4),
        Value::Time(true, 1, 2, 3, 4, 0),
        Value::NULL,
        Value::Int(1),
    ];
    let (request, as_long_data) = packets::ComStmtExecuteRequestBuilder::new(7).build(&params);
    assert!(!as_long_data);
    let bytes = written(&request);
    let Ok(Command::StmtExecute(execute)) = Command::parse(&bytes, Capabilities::PROTOCOL_41) else { panic!("not an execution") };
    assert_eq!(execute.statement_id, 7);
    let mut types = ParamTypes::new();
    let mut values = Vec::new();
    execute.params(params.len(), &mut types, |_| false, |_, param| values.push(param.value)).expect("well formed");
    assert_eq!(
        values,
        [
            ParamValue::Int(-5),
            ParamValue::UInt(u64::MAX),
            ParamValue::Null,
            ParamValue::Double(0.25),
            ParamValue::Float(0.5),
            ParamValue::Bytes(b"abc"),
            ParamValue::DateTime(DateTime::from_fields(Date::from_fields(2024, 2, 29), 1, 2, 3, 4)),
            ParamValue::Time(Time::from_fields(true, 26, 3, 4, 0)),
            ParamValue::Null,
            ParamValue::Int(1),
        ]
    );
    assert_eq!(types.len(), params.len());
    for cut in 0..bytes.len() {
        if let Ok(Command::StmtExecute(execute)) = Command::parse(&bytes[..cut], Capabilities::PROTOCOL_41) {
            assert!(execute.params(params.len(), &mut ParamTypes::new(), |_| false, |_, _| {}).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn an_execution_without_types_uses_the_last_ones() {
    let mut types = ParamTypes::from_iter([ParamType { column_type: ColumnType::Tiny, unsigned: false }]);
    let payload = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, /* bitmap */ 0, /* no types */ 0, 0xFF];
    let Ok(Command::StmtExecute(execute)) = Command::parse(&payload, Capabilities::PROTOCOL_41) else { panic!("not an execution") };
    let mut seen = None;
    execute.params(1, &mut types, |_| false, |_, param| seen = Some(param.value)).expect("well formed");
    assert_eq!(seen, Some(ParamValue::Int(-1)));
    assert!(execute.params(1, &mut ParamTypes::new(), |_| false, |_, _| {}).is_err(), "types were never sent");
}

#[test]
fn query_attributes_are_read() {
    // A count, one set, bitmap, types with names, values, text.
    let mut payload = vec![0x03, 2, 1, 0b10, 1, 0xFE, 0];
    payload.extend_from_slice(b"\x05trace\x08\x80\x01n");
    payload.extend_from_slice(b"\x03abcSELECT 1");
    let Ok(Command::Query { sql, attributes }) = Command::parse(&payload, Capabilities::QUERY_ATTRIBUTES) else { panic!("not a query") };
    assert_eq!(sql, b"SELECT 1");
    let attributes = attributes.decode().expect("well formed");
    assert_eq!((attributes[0].name, attributes[0].param.value), (&b"trace"[..], ParamValue::Bytes(b"abc")));
    assert_eq!((attributes[1].name, attributes[1].param.value), (&b"n"[..], ParamValue::Null));
    let Ok(Command::Query { sql, .. }) = Command::parse(b"\x03\x00\x01SELECT 1", Capabilities::QUERY_ATTRIBUTES) else {
        panic!("not a query")
    };
    assert_eq!(sql, b"SELECT 1");
}

#[test]
fn change_user_of_theirs_is_read() {
    let request = packets::ComChangeUser::new()
        .with_user(Some(&b"bench"[..]))
        .with_database(Some(&b"db"[..]))
        .with_auth_plugin_data(Some(&b"12345678901234567890"[..]))
        .with_more_data(Some(packets::ComChangeUserMoreData::new(255).with_auth_plugin(Some(packets::AuthPlugin::MysqlNativePassword))));
    let bytes = written(&request);
    let capabilities = ALL.difference(Capabilities::CONNECT_ATTRS);
    let Ok(Command::ChangeUser(rest)) = Command::parse(&bytes, capabilities) else { panic!("not a change of user") };
    let change = protocol::handshake::ChangeUser::parse(rest, capabilities).expect("well formed");
    assert_eq!((change.user, change.database, change.charset), (&b"bench"[..], &b"db"[..], Some(255)));
    assert_eq!(change.auth_response, b"12345678901234567890");
    assert_eq!(change.auth_plugin, Some(&b"mysql_native_password"[..]));
}

#[test]
fn framing_is_theirs() {
    let payload: Vec<u8> = (0..0xFF_FFFFusize + 10).map(|i| i as u8).collect();
    let mut out = PacketWriter::new();
    out.packet(&payload);
    let mut codec = mysql_common::proto::codec::PacketCodec::default();
    codec.max_allowed_packet = 1 << 30;
    let mut source = bytes::BytesMut::from(out.bytes());
    let mut back = Vec::new();
    assert!(codec.decode(&mut source, &mut back).expect("well framed"));
    assert!(back == payload);
}
