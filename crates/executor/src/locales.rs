//! Locales: names of months and days (`lc_time_names`), and how FORMAT groups digits.
//!
//! Written from the answers of a MySQL 9.7 that was asked for each of its locales; the order is that of its numbers.

/// Names of days and months. Several locales may share them.
#[derive(Debug)]
pub struct Names {
    /// Days, Monday first.
    pub days: [&'static str; 7],
    /// The same, short.
    pub days_short: [&'static str; 7],
    /// Months.
    pub months: [&'static str; 12],
    /// The same, short.
    pub months_short: [&'static str; 12],
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    /// Between whole and fraction.
    pub point: char,
    /// Between groups of digits; none where there are no groups.
    pub separator: Option<char>,
    /// Digits of the group before the point, and of the others.
    pub groups: (usize, usize),
}

/// A locale.
#[derive(Debug)]
pub struct Locale {
    /// Its name.
    pub name: &'static str,
    /// Its names of days and months.
    pub names: &'static Names,
    /// How it writes numbers.
    pub digits: Digits,
}

const WESTERN: Digits = Digits { point: '.', separator: Some(','), groups: (3, 3) };
const SPACED: Digits = Digits { point: ',', separator: Some(' '), groups: (3, 3) };
const DOTTED: Digits = Digits { point: ',', separator: Some('.'), groups: (3, 3) };
const COMMA_ONLY: Digits = Digits { point: ',', separator: None, groups: (3, 3) };
const POINT_ONLY: Digits = Digits { point: '.', separator: None, groups: (3, 3) };
/// MySQL's has an empty text between the groups, of which it takes the zero at its end.
const BULGARIAN: Digits = Digits { point: ',', separator: Some('\0'), groups: (3, 3) };
const RAETIAN: Digits = Digits { point: ',', separator: Some('\''), groups: (3, 3) };
const SWISS: Digits = Digits { point: '.', separator: Some('\''), groups: (3, 3) };
const INDIAN: Digits = Digits { point: '.', separator: Some(','), groups: (3, 2) };

/// The locale of a server that was told nothing: its number.
pub const ENGLISH: usize = 0;

/// The number of a locale, by its name in any case.
pub fn find(name: &[u8]) -> Option<usize> {
    LOCALES.iter().position(|locale| locale.name.as_bytes().eq_ignore_ascii_case(name))
}

impl Names {
    /// Characters of the longest name of a day, and of a month.
    pub fn chars_max(&self) -> (usize, usize) {
        let longest = |names: &[&str]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        (longest(&self.days), longest(&self.months))
    }
}

impl Digits {
    /// Writes a number that is given with a point, and perhaps a sign.
    pub fn write(self, number: &str) -> String {
        let (sign, number) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
        let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, fraction)| (whole, Some(fraction)));
        let mut out = String::with_capacity(number.len() * 2);
        out.push_str(sign);
        for (at, digit) in whole.chars().enumerate() {
            let left = whole.len() - at;
            let (first, further) = self.groups;
            if at > 0 && (left == first || left > first && (left - first).is_multiple_of(further)) {
                out.extend(self.separator);
            }
            out.push(digit);
        }
        if let Some(fraction) = fraction {
            out.push(self.point);
            out.push_str(fraction);
        }
        out
    }
}

/// All locales, by their numbers.
pub static LOCALES: &[Locale] = &[
    Locale { name: "en_US", names: &NAMES[0], digits: WESTERN },
    Locale { name: "en_GB", names: &NAMES[0], digits: WESTERN },
    Locale { name: "ja_JP", names: &NAMES[1], digits: WESTERN },
    Locale { name: "sv_SE", names: &NAMES[2], digits: SPACED },
    Locale { name: "de_DE", names: &NAMES[3], digits: DOTTED },
    Locale { name: "fr_FR", names: &NAMES[4], digits: COMMA_ONLY },
    Locale { name: "ar_AE", names: &NAMES[5], digits: WESTERN },
    Locale { name: "ar_BH", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_JO", names: &NAMES[7], digits: WESTERN },
    Locale { name: "ar_SA", names: &NAMES[8], digits: POINT_ONLY },
    Locale { name: "ar_SY", names: &NAMES[9], digits: WESTERN },
    Locale { name: "be_BY", names: &NAMES[10], digits: DOTTED },
    Locale { name: "bg_BG", names: &NAMES[11], digits: BULGARIAN },
    Locale { name: "ca_ES", names: &NAMES[12], digits: COMMA_ONLY },
    Locale { name: "cs_CZ", names: &NAMES[13], digits: SPACED },
    Locale { name: "da_DK", names: &NAMES[14], digits: DOTTED },
    Locale { name: "de_AT", names: &NAMES[15], digits: COMMA_ONLY },
    Locale { name: "es_ES", names: &NAMES[16], digits: DOTTED },
    Locale { name: "et_EE", names: &NAMES[17], digits: SPACED },
    Locale { name: "eu_ES", names: &NAMES[18], digits: COMMA_ONLY },
    Locale { name: "fi_FI", names: &NAMES[19], digits: SPACED },
    Locale { name: "fo_FO", names: &NAMES[20], digits: DOTTED },
    Locale { name: "gl_ES", names: &NAMES[21], digits: COMMA_ONLY },
    Locale { name: "gu_IN", names: &NAMES[22], digits: WESTERN },
    Locale { name: "he_IL", names: &NAMES[23], digits: WESTERN },
    Locale { name: "hi_IN", names: &NAMES[24], digits: WESTERN },
    Locale { name: "hr_HR", names: &NAMES[25], digits: COMMA_ONLY },
    Locale { name: "hu_HU", names: &NAMES[26], digits: DOTTED },
    Locale { name: "id_ID", names: &NAMES[27], digits: DOTTED },
    Locale { name: "is_IS", names: &NAMES[28], digits: DOTTED },
    Locale { name: "it_CH", names: &NAMES[29], digits: RAETIAN },
    Locale { name: "ko_KR", names: &NAMES[30], digits: WESTERN },
    Locale { name: "lt_LT", names: &NAMES[31], digits: DOTTED },
    Locale { name: "lv_LV", names: &NAMES[32], digits: SPACED },
    Locale { name: "mk_MK", names: &NAMES[33], digits: SPACED },
    Locale { name: "mn_MN", names: &NAMES[34], digits: DOTTED },
    Locale { name: "ms_MY", names: &NAMES[35], digits: WESTERN },
    Locale { name: "nb_NO", names: &NAMES[36], digits: DOTTED },
    Locale { name: "nl_NL", names: &NAMES[37], digits: COMMA_ONLY },
    Locale { name: "pl_PL", names: &NAMES[38], digits: COMMA_ONLY },
    Locale { name: "pt_BR", names: &NAMES[39], digits: COMMA_ONLY },
    Locale { name: "pt_PT", names: &NAMES[40], digits: COMMA_ONLY },
    Locale { name: "ro_RO", names: &NAMES[41], digits: DOTTED },
    Locale { name: "ru_RU", names: &NAMES[42], digits: SPACED },
    Locale { name: "ru_UA", names: &NAMES[43], digits: DOTTED },
    Locale { name: "sk_SK", names: &NAMES[44], digits: SPACED },
    Locale { name: "sl_SI", names: &NAMES[45], digits: COMMA_ONLY },
    Locale { name: "sq_AL", names: &NAMES[46], digits: DOTTED },
    Locale { name: "sr_RS", names: &NAMES[47], digits: POINT_ONLY },
    Locale { name: "ta_IN", names: &NAMES[48], digits: INDIAN },
    Locale { name: "te_IN", names: &NAMES[49], digits: INDIAN },
    Locale { name: "th_TH", names: &NAMES[50], digits: WESTERN },
    Locale { name: "tr_TR", names: &NAMES[51], digits: DOTTED },
    Locale { name: "uk_UA", names: &NAMES[52], digits: DOTTED },
    Locale { name: "ur_PK", names: &NAMES[53], digits: WESTERN },
    Locale { name: "vi_VN", names: &NAMES[54], digits: DOTTED },
    Locale { name: "zh_CN", names: &NAMES[55], digits: WESTERN },
    Locale { name: "zh_TW", names: &NAMES[56], digits: WESTERN },
    Locale { name: "ar_DZ", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_EG", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_IN", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_IQ", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_KW", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_LB", names: &NAMES[7], digits: WESTERN },
    Locale { name: "ar_LY", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_MA", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_OM", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_QA", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_SD", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_TN", names: &NAMES[6], digits: WESTERN },
    Locale { name: "ar_YE", names: &NAMES[6], digits: WESTERN },
    Locale { name: "de_BE", names: &NAMES[3], digits: DOTTED },
    Locale { name: "de_CH", names: &NAMES[3], digits: SWISS },
    Locale { name: "de_LU", names: &NAMES[3], digits: DOTTED },
    Locale { name: "en_AU", names: &NAMES[0], digits: WESTERN },
    Locale { name: "en_CA", names: &NAMES[0], digits: WESTERN },
    Locale { name: "en_IN", names: &NAMES[0], digits: INDIAN },
    Locale { name: "en_NZ", names: &NAMES[0], digits: WESTERN },
    Locale { name: "en_PH", names: &NAMES[0], digits: WESTERN },
    Locale { name: "en_ZA", names: &NAMES[0], digits: WESTERN },
    Locale { name: "en_ZW", names: &NAMES[0], digits: WESTERN },
    Locale { name: "es_AR", names: &NAMES[16], digits: DOTTED },
    Locale { name: "es_BO", names: &NAMES[16], digits: DOTTED },
    Locale { name: "es_CL", names: &NAMES[16], digits: DOTTED },
    Locale { name: "es_CO", names: &NAMES[16], digits: DOTTED },
    Locale { name: "es_CR", names: &NAMES[16], digits: SPACED },
    Locale { name: "es_DO", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_EC", names: &NAMES[16], digits: DOTTED },
    Locale { name: "es_GT", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_HN", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_MX", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_NI", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_PA", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_PE", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_PR", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_PY", names: &NAMES[16], digits: DOTTED },
    Locale { name: "es_SV", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_US", names: &NAMES[16], digits: WESTERN },
    Locale { name: "es_UY", names: &NAMES[16], digits: DOTTED },
    Locale { name: "es_VE", names: &NAMES[16], digits: DOTTED },
    Locale { name: "fr_BE", names: &NAMES[4], digits: COMMA_ONLY },
    Locale { name: "fr_CA", names: &NAMES[4], digits: COMMA_ONLY },
    Locale { name: "fr_CH", names: &NAMES[4], digits: COMMA_ONLY },
    Locale { name: "fr_LU", names: &NAMES[4], digits: COMMA_ONLY },
    Locale { name: "it_IT", names: &NAMES[29], digits: COMMA_ONLY },
    Locale { name: "nl_BE", names: &NAMES[37], digits: COMMA_ONLY },
    Locale { name: "no_NO", names: &NAMES[36], digits: DOTTED },
    Locale { name: "sv_FI", names: &NAMES[2], digits: SPACED },
    Locale { name: "zh_HK", names: &NAMES[55], digits: WESTERN },
    Locale { name: "el_GR", names: &NAMES[57], digits: COMMA_ONLY },
    Locale { name: "rm_CH", names: &NAMES[58], digits: RAETIAN },
];

/// Their names.
#[rustfmt::skip]
static NAMES: &[Names] = &[
    // en_US
    Names {
        days: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        days_short: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        months: ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"],
        months_short: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    },
    // ja_JP
    Names {
        days: ["月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"],
        days_short: ["月", "火", "水", "木", "金", "土", "日"],
        months: ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        months_short: [" 1月", " 2月", " 3月", " 4月", " 5月", " 6月", " 7月", " 8月", " 9月", "10月", "11月", "12月"],
    },
    // sv_SE
    Names {
        days: ["måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
        days_short: ["mån", "tis", "ons", "tor", "fre", "lör", "sön"],
        months: ["januari", "februari", "mars", "april", "maj", "juni", "juli", "augusti", "september", "oktober", "november", "december"],
        months_short: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
    },
    // de_DE
    Names {
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        days_short: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
        months: ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
        months_short: ["Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
    },
    // fr_FR
    Names {
        days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        days_short: ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"],
        months: ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"],
        months_short: ["jan", "fév", "mar", "avr", "mai", "jun", "jui", "aoû", "sep", "oct", "nov", "déc"],
    },
    // ar_AE
    Names {
        days: ["الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت ", "الأحد"],
        days_short: ["ن", "ث", "ر", "خ", "ج", "س", "ح"],
        months: ["يناير", "فبراير", "مارس", "أبريل", "مايو", "يونيو", "يوليو", "أغسطس", "سبتمبر", "أكتوبر", "نوفمبر", "ديسمبر"],
        months_short: ["ينا", "فبر", "مار", "أبر", "ماي", "يون", "يول", "أغس", "سبت", "أكت", "نوف", "ديس"],
    },
    // ar_BH
    Names {
        days: ["الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت", "الأحد"],
        days_short: ["ن", "ث", "ر", "خ", "ج", "س", "ح"],
        months: ["يناير", "فبراير", "مارس", "أبريل", "مايو", "يونيو", "يوليو", "أغسطس", "سبتمبر", "أكتوبر", "نوفمبر", "ديسمبر"],
        months_short: ["ينا", "فبر", "مار", "أبر", "ماي", "يون", "يول", "أغس", "سبت", "أكت", "نوف", "ديس"],
    },
    // ar_JO
    Names {
        days: ["الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت", "الأحد"],
        days_short: ["الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت", "الأحد"],
        months: ["كانون الثاني", "شباط", "آذار", "نيسان", "نوار", "حزيران", "تموز", "آب", "أيلول", "تشرين الأول", "تشرين الثاني", "كانون الأول"],
        months_short: ["كانون الثاني", "شباط", "آذار", "نيسان", "نوار", "حزيران", "تموز", "آب", "أيلول", "تشرين الأول", "تشرين الثاني", "كانون الأول"],
    },
    // ar_SA
    Names {
        days: ["الإثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعـة", "السبت", "الأحد"],
        days_short: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        months: ["كانون الثاني", "شباط", "آذار", "نيسـان", "أيار", "حزيران", "تـمـوز", "آب", "أيلول", "تشرين الأول", "تشرين الثاني", "كانون الأول"],
        months_short: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    },
    // ar_SY
    Names {
        days: ["الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت", "الأحد"],
        days_short: ["الاثنين", "الثلاثاء", "الأربعاء", "الخميس", "الجمعة", "السبت", "الأحد"],
        months: ["كانون الثاني", "شباط", "آذار", "نيسان", "نواران", "حزير", "تموز", "آب", "أيلول", "تشرين الأول", "تشرين الثاني", "كانون الأول"],
        months_short: ["كانون الثاني", "شباط", "آذار", "نيسان", "نوار", "حزيران", "تموز", "آب", "أيلول", "تشرين الأول", "تشرين الثاني", "كانون الأول"],
    },
    // be_BY
    Names {
        days: ["Панядзелак", "Аўторак", "Серада", "Чацвер", "Пятніца", "Субота", "Нядзеля"],
        days_short: ["Пан", "Аўт", "Срд", "Чцв", "Пят", "Суб", "Няд"],
        months: ["Студзень", "Люты", "Сакавік", "Красавік", "Травень", "Чэрвень", "Ліпень", "Жнівень", "Верасень", "Кастрычнік", "Лістапад", "Снежань"],
        months_short: ["Стд", "Лют", "Сак", "Крс", "Тра", "Чэр", "Ліп", "Жнв", "Врс", "Кст", "Ліс", "Снж"],
    },
    // bg_BG
    Names {
        days: ["понеделник", "вторник", "сряда", "четвъртък", "петък", "събота", "неделя"],
        days_short: ["пн", "вт", "ср", "чт", "пт", "сб", "нд"],
        months: ["януари", "февруари", "март", "април", "май", "юни", "юли", "август", "септември", "октомври", "ноември", "декември"],
        months_short: ["яну", "фев", "мар", "апр", "май", "юни", "юли", "авг", "сеп", "окт", "ное", "дек"],
    },
    // ca_ES
    Names {
        days: ["dilluns", "dimarts", "dimecres", "dijous", "divendres", "dissabte", "diumenge"],
        days_short: ["dl", "dt", "dc", "dj", "dv", "ds", "dg"],
        months: ["gener", "febrer", "març", "abril", "maig", "juny", "juliol", "agost", "setembre", "octubre", "novembre", "desembre"],
        months_short: ["gen", "feb", "mar", "abr", "mai", "jun", "jul", "ago", "set", "oct", "nov", "des"],
    },
    // cs_CZ
    Names {
        days: ["Pondělí", "Úterý", "Středa", "Čtvrtek", "Pátek", "Sobota", "Neděle"],
        days_short: ["Po", "Út", "St", "Čt", "Pá", "So", "Ne"],
        months: ["leden", "únor", "březen", "duben", "květen", "červen", "červenec", "srpen", "září", "říjen", "listopad", "prosinec"],
        months_short: ["led", "úno", "bře", "dub", "kvě", "čen", "čec", "srp", "zář", "říj", "lis", "pro"],
    },
    // da_DK
    Names {
        days: ["mandag", "tirsdag", "onsdag", "torsdag", "fredag", "lørdag", "søndag"],
        days_short: ["man", "tir", "ons", "tor", "fre", "lør", "søn"],
        months: ["januar", "februar", "marts", "april", "maj", "juni", "juli", "august", "september", "oktober", "november", "december"],
        months_short: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
    },
    // de_AT
    Names {
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        days_short: ["Mon", "Die", "Mit", "Don", "Fre", "Sam", "Son"],
        months: ["Jänner", "Feber", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
        months_short: ["Jän", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
    },
    // es_ES
    Names {
        days: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
        days_short: ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
        months: ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"],
        months_short: ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"],
    },
    // et_EE
    Names {
        days: ["esmaspäev", "teisipäev", "kolmapäev", "neljapäev", "reede", "laupäev", "pühapäev"],
        days_short: ["E", "T", "K", "N", "R", "L", "P"],
        months: ["jaanuar", "veebruar", "märts", "aprill", "mai", "juuni", "juuli", "august", "september", "oktoober", "november", "detsember"],
        months_short: ["jaan ", "veebr", "märts", "apr  ", "mai  ", "juuni", "juuli", "aug  ", "sept ", "okt  ", "nov  ", "dets "],
    },
    // eu_ES
    Names {
        days: ["astelehena", "asteartea", "asteazkena", "osteguna", "ostirala", "larunbata", "igandea"],
        days_short: ["al.", "ar.", "az.", "og.", "or.", "lr.", "ig."],
        months: ["urtarrila", "otsaila", "martxoa", "apirila", "maiatza", "ekaina", "uztaila", "abuztua", "iraila", "urria", "azaroa", "abendua"],
        months_short: ["urt", "ots", "mar", "api", "mai", "eka", "uzt", "abu", "ira", "urr", "aza", "abe"],
    },
    // fi_FI
    Names {
        days: ["maanantai", "tiistai", "keskiviikko", "torstai", "perjantai", "lauantai", "sunnuntai"],
        days_short: ["ma", "ti", "ke", "to", "pe", "la", "su"],
        months: ["tammikuu", "helmikuu", "maaliskuu", "huhtikuu", "toukokuu", "kesäkuu", "heinäkuu", "elokuu", "syyskuu", "lokakuu", "marraskuu", "joulukuu"],
        months_short: ["tammi ", "helmi ", "maalis", "huhti ", "touko ", "kesä  ", "heinä ", "elo   ", "syys  ", "loka  ", "marras", "joulu "],
    },
    // fo_FO
    Names {
        days: ["mánadagur", "týsdagur", "mikudagur", "hósdagur", "fríggjadagur", "leygardagur", "sunnudagur"],
        days_short: ["mán", "týs", "mik", "hós", "frí", "ley", "sun"],
        months: ["januar", "februar", "mars", "apríl", "mai", "juni", "juli", "august", "september", "oktober", "november", "desember"],
        months_short: ["jan", "feb", "mar", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "des"],
    },
    // gl_ES
    Names {
        days: ["Luns", "Martes", "Mércores", "Xoves", "Venres", "Sábado", "Domingo"],
        days_short: ["Lun", "Mar", "Mér", "Xov", "Ven", "Sáb", "Dom"],
        months: ["Xaneiro", "Febreiro", "Marzo", "Abril", "Maio", "Xuño", "Xullo", "Agosto", "Setembro", "Outubro", "Novembro", "Decembro"],
        months_short: ["Xan", "Feb", "Mar", "Abr", "Mai", "Xuñ", "Xul", "Ago", "Set", "Out", "Nov", "Dec"],
    },
    // gu_IN
    Names {
        days: ["સોમવાર", "મન્ગળવાર", "બુધવાર", "ગુરુવાર", "શુક્રવાર", "શનિવાર", "રવિવાર"],
        days_short: ["સોમ", "મન્ગળ", "બુધ", "ગુરુ", "શુક્ર", "શનિ", "રવિ"],
        months: ["જાન્યુઆરી", "ફેબ્રુઆરી", "માર્ચ", "એપ્રિલ", "મે", "જુન", "જુલાઇ", "ઓગસ્ટ", "સેપ્ટેમ્બર", "ઓક્ટોબર", "નવેમ્બર", "ડિસેમ્બર"],
        months_short: ["જાન", "ફેબ", "માર", "એપ્ર", "મે", "જુન", "જુલ", "ઓગ", "સેપ્ટ", "ઓક્ટ", "નોવ", "ડિસ"],
    },
    // he_IL
    Names {
        days: ["שני", "שלישי", "רביעי", "חמישי", "שישי", "שבת", "ראשון"],
        days_short: ["ב'", "ג'", "ד'", "ה'", "ו'", "ש'", "א'"],
        months: ["ינואר", "פברואר", "מרץ", "אפריל", "מאי", "יוני", "יולי", "אוגוסט", "ספטמבר", "אוקטובר", "נובמבר", "דצמבר"],
        months_short: ["ינו", "פבר", "מרץ", "אפר", "מאי", "יונ", "יול", "אוג", "ספט", "אוק", "נוב", "דצמ"],
    },
    // hi_IN
    Names {
        days: ["सोमवार ", "मंगलवार ", "बुधवार ", "गुरुवार ", "शुक्रवार ", "शनिवार ", "रविवार "],
        days_short: ["सोम ", "मंगल ", "बुध ", "गुरु ", "शुक्र ", "शनि ", "रवि "],
        months: ["जनवरी", "फ़रवरी", "मार्च", "अप्रेल", "मई", "जून", "जुलाई", "अगस्त", "सितम्बर", "अक्टूबर", "नवम्बर", "दिसम्बर"],
        months_short: ["जनवरी", "फ़रवरी", "मार्च", "अप्रेल", "मई", "जून", "जुलाई", "अगस्त", "सितम्बर", "अक्टूबर", "नवम्बर", "दिसम्बर"],
    },
    // hr_HR
    Names {
        days: ["Ponedjeljak", "Utorak", "Srijeda", "Četvrtak", "Petak", "Subota", "Nedjelja"],
        days_short: ["Pon", "Uto", "Sri", "Čet", "Pet", "Sub", "Ned"],
        months: ["Siječanj", "Veljača", "Ožujak", "Travanj", "Svibanj", "Lipanj", "Srpanj", "Kolovoz", "Rujan", "Listopad", "Studeni", "Prosinac"],
        months_short: ["Sij", "Vel", "Ožu", "Tra", "Svi", "Lip", "Srp", "Kol", "Ruj", "Lis", "Stu", "Pro"],
    },
    // hu_HU
    Names {
        days: ["hétfő", "kedd", "szerda", "csütörtök", "péntek", "szombat", "vasárnap"],
        days_short: ["h", "k", "sze", "cs", "p", "szo", "v"],
        months: ["január", "február", "március", "április", "május", "június", "július", "augusztus", "szeptember", "október", "november", "december"],
        months_short: ["jan", "feb", "már", "ápr", "máj", "jún", "júl", "aug", "sze", "okt", "nov", "dec"],
    },
    // id_ID
    Names {
        days: ["Senin", "Selasa", "Rabu", "Kamis", "Jumat", "Sabtu", "Minggu"],
        days_short: ["Sen", "Sel", "Rab", "Kam", "Jum", "Sab", "Min"],
        months: ["Januari", "Pebruari", "Maret", "April", "Mei", "Juni", "Juli", "Agustus", "September", "Oktober", "November", "Desember"],
        months_short: ["Jan", "Peb", "Mar", "Apr", "Mei", "Jun", "Jul", "Agu", "Sep", "Okt", "Nov", "Des"],
    },
    // is_IS
    Names {
        days: ["mánudagur", "þriðjudagur", "miðvikudagur", "fimmtudagur", "föstudagur", "laugardagur", "sunnudagur"],
        days_short: ["mán", "þri", "mið", "fim", "fös", "lau", "sun"],
        months: ["janúar", "febrúar", "mars", "apríl", "maí", "júní", "júlí", "ágúst", "september", "október", "nóvember", "desember"],
        months_short: ["jan", "feb", "mar", "apr", "maí", "jún", "júl", "ágú", "sep", "okt", "nóv", "des"],
    },
    // it_CH
    Names {
        days: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
        days_short: ["lun", "mar", "mer", "gio", "ven", "sab", "dom"],
        months: ["gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"],
        months_short: ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"],
    },
    // ko_KR
    Names {
        days: ["월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"],
        days_short: ["월", "화", "수", "목", "금", "토", "일"],
        months: ["일월", "이월", "삼월", "사월", "오월", "유월", "칠월", "팔월", "구월", "시월", "십일월", "십이월"],
        months_short: [" 1월", " 2월", " 3월", " 4월", " 5월", " 6월", " 7월", " 8월", " 9월", "10월", "11월", "12월"],
    },
    // lt_LT
    Names {
        days: ["Pirmadienis", "Antradienis", "Trečiadienis", "Ketvirtadienis", "Penktadienis", "Šeštadienis", "Sekmadienis"],
        days_short: ["Pr", "An", "Tr", "Kt", "Pn", "Št", "Sk"],
        months: ["sausio", "vasario", "kovo", "balandžio", "gegužės", "birželio", "liepos", "rugpjūčio", "rugsėjo", "spalio", "lapkričio", "gruodžio"],
        months_short: ["Sau", "Vas", "Kov", "Bal", "Geg", "Bir", "Lie", "Rgp", "Rgs", "Spa", "Lap", "Grd"],
    },
    // lv_LV
    Names {
        days: ["pirmdiena", "otrdiena", "trešdiena", "ceturtdiena", "piektdiena", "sestdiena", "svētdiena"],
        days_short: ["P ", "O ", "T ", "C ", "Pk", "S ", "Sv"],
        months: ["janvāris", "februāris", "marts", "aprīlis", "maijs", "jūnijs", "jūlijs", "augusts", "septembris", "oktobris", "novembris", "decembris"],
        months_short: ["jan", "feb", "mar", "apr", "mai", "jūn", "jūl", "aug", "sep", "okt", "nov", "dec"],
    },
    // mk_MK
    Names {
        days: ["понеделник", "вторник", "среда", "четврток", "петок", "сабота", "недела"],
        days_short: ["пон", "вто", "сре", "чет", "пет", "саб", "нед"],
        months: ["јануари", "февруари", "март", "април", "мај", "јуни", "јули", "август", "септември", "октомври", "ноември", "декември"],
        months_short: ["јан", "фев", "мар", "апр", "мај", "јун", "јул", "авг", "сеп", "окт", "ное", "дек"],
    },
    // mn_MN
    Names {
        days: ["Даваа", "Мягмар", "Лхагва", "Пүрэв", "Баасан", "Бямба", "Ням"],
        days_short: ["Да", "Мя", "Лх", "Пү", "Ба", "Бя", "Ня"],
        months: ["Нэгдүгээр сар", "Хоёрдугаар сар", "Гуравдугаар сар", "Дөрөвдүгээр сар", "Тавдугаар сар", "Зургаадугар сар", "Долоодугаар сар", "Наймдугаар сар", "Есдүгээр сар", "Аравдугаар сар", "Арваннэгдүгээр сар", "Арванхоёрдгаар сар"],
        months_short: ["1-р", "2-р", "3-р", "4-р", "5-р", "6-р", "7-р", "8-р", "9-р", "10-р", "11-р", "12-р"],
    },
    // ms_MY
    Names {
        days: ["Isnin", "Selasa", "Rabu", "Khamis", "Jumaat", "Sabtu", "Ahad"],
        days_short: ["Isn", "Sel", "Rab", "Kha", "Jum", "Sab", "Ahd"],
        months: ["Januari", "Februari", "Mac", "April", "Mei", "Jun", "Julai", "Ogos", "September", "Oktober", "November", "Disember"],
        months_short: ["Jan", "Feb", "Mac", "Apr", "Mei", "Jun", "Jul", "Ogos", "Sep", "Okt", "Nov", "Dis"],
    },
    // nb_NO
    Names {
        days: ["mandag", "tirsdag", "onsdag", "torsdag", "fredag", "lørdag", "søndag"],
        days_short: ["man", "tir", "ons", "tor", "fre", "lør", "søn"],
        months: ["januar", "februar", "mars", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "desember"],
        months_short: ["jan", "feb", "mar", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "des"],
    },
    // nl_NL
    Names {
        days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
        days_short: ["ma", "di", "wo", "do", "vr", "za", "zo"],
        months: ["januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november", "december"],
        months_short: ["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
    },
    // pl_PL
    Names {
        days: ["poniedziałek", "wtorek", "środa", "czwartek", "piątek", "sobota", "niedziela"],
        days_short: ["pon", "wto", "śro", "czw", "pią", "sob", "nie"],
        months: ["styczeń", "luty", "marzec", "kwiecień", "maj", "czerwiec", "lipiec", "sierpień", "wrzesień", "październik", "listopad", "grudzień"],
        months_short: ["sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "paź", "lis", "gru"],
    },
    // pt_BR
    Names {
        days: ["segunda", "terça", "quarta", "quinta", "sexta", "sábado", "domingo"],
        days_short: ["Seg", "Ter", "Qua", "Qui", "Sex", "Sáb", "Dom"],
        months: ["janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"],
        months_short: ["Jan", "Fev", "Mar", "Abr", "Mai", "Jun", "Jul", "Ago", "Set", "Out", "Nov", "Dez"],
    },
    // pt_PT
    Names {
        days: ["Segunda", "Terça", "Quarta", "Quinta", "Sexta", "Sábado", "Domingo"],
        days_short: ["Seg", "Ter", "Qua", "Qui", "Sex", "Sáb", "Dom"],
        months: ["Janeiro", "Fevereiro", "Março", "Abril", "Maio", "Junho", "Julho", "Agosto", "Setembro", "Outubro", "Novembro", "Dezembro"],
        months_short: ["Jan", "Fev", "Mar", "Abr", "Mai", "Jun", "Jul", "Ago", "Set", "Out", "Nov", "Dez"],
    },
    // ro_RO
    Names {
        days: ["Luni", "Marţi", "Miercuri", "Joi", "Vineri", "Sâmbătă", "Duminică"],
        days_short: ["Lu", "Ma", "Mi", "Jo", "Vi", "Sâ", "Du"],
        months: ["Ianuarie", "Februarie", "Martie", "Aprilie", "Mai", "Iunie", "Iulie", "August", "Septembrie", "Octombrie", "Noiembrie", "Decembrie"],
        months_short: ["ian", "feb", "mar", "apr", "mai", "iun", "iul", "aug", "sep", "oct", "nov", "dec"],
    },
    // ru_RU
    Names {
        days: ["Понедельник", "Вторник", "Среда", "Четверг", "Пятница", "Суббота", "Воскресенье"],
        days_short: ["Пнд", "Втр", "Срд", "Чтв", "Птн", "Сбт", "Вск"],
        months: ["Января", "Февраля", "Марта", "Апреля", "Мая", "Июня", "Июля", "Августа", "Сентября", "Октября", "Ноября", "Декабря"],
        months_short: ["Янв", "Фев", "Мар", "Апр", "Май", "Июн", "Июл", "Авг", "Сен", "Окт", "Ноя", "Дек"],
    },
    // ru_UA
    Names {
        days: ["Понедельник", "Вторник", "Среда", "Четверг", "Пятница", "Суббота", "Воскресенье"],
        days_short: ["Пнд", "Вто", "Срд", "Чтв", "Птн", "Суб", "Вск"],
        months: ["Январь", "Февраль", "Март", "Апрель", "Май", "Июнь", "Июль", "Август", "Сентябрь", "Октябрь", "Ноябрь", "Декабрь"],
        months_short: ["Янв", "Фев", "Мар", "Апр", "Май", "Июн", "Июл", "Авг", "Сен", "Окт", "Ноя", "Дек"],
    },
    // sk_SK
    Names {
        days: ["Pondelok", "Utorok", "Streda", "Štvrtok", "Piatok", "Sobota", "Nedeľa"],
        days_short: ["Po", "Ut", "St", "Št", "Pi", "So", "Ne"],
        months: ["január", "február", "marec", "apríl", "máj", "jún", "júl", "august", "september", "október", "november", "december"],
        months_short: ["jan", "feb", "mar", "apr", "máj", "jún", "júl", "aug", "sep", "okt", "nov", "dec"],
    },
    // sl_SI
    Names {
        days: ["ponedeljek", "torek", "sreda", "četrtek", "petek", "sobota", "nedelja"],
        days_short: ["pon", "tor", "sre", "čet", "pet", "sob", "ned"],
        months: ["januar", "februar", "marec", "april", "maj", "junij", "julij", "avgust", "september", "oktober", "november", "december"],
        months_short: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "avg", "sep", "okt", "nov", "dec"],
    },
    // sq_AL
    Names {
        days: ["e hënë ", "e martë ", "e mërkurë ", "e enjte ", "e premte ", "e shtunë ", "e diel "],
        days_short: ["Hën ", "Mar ", "Mër ", "Enj ", "Pre ", "Sht ", "Die "],
        months: ["janar", "shkurt", "mars", "prill", "maj", "qershor", "korrik", "gusht", "shtator", "tetor", "nëntor", "dhjetor"],
        months_short: ["Jan", "Shk", "Mar", "Pri", "Maj", "Qer", "Kor", "Gsh", "Sht", "Tet", "Nën", "Dhj"],
    },
    // sr_RS
    Names {
        days: ["ponedeljak", "utorak", "sreda", "četvrtak", "petak", "subota", "nedelja"],
        days_short: ["pon", "uto", "sre", "čet", "pet", "sub", "ned"],
        months: ["januar", "februar", "mart", "april", "maj", "juni", "juli", "avgust", "septembar", "oktobar", "novembar", "decembar"],
        months_short: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "avg", "sep", "okt", "nov", "dec"],
    },
    // ta_IN
    Names {
        days: ["திங்கள்", "செவ்வாய்", "புதன்", "வியாழன்", "வெள்ளி", "சனி", "ஞாயிறு"],
        days_short: ["த", "ச", "ப", "வ", "வ", "ச", "ஞ"],
        months: ["ஜனவரி", "பெப்ரவரி", "மார்ச்", "ஏப்ரல்", "மே", "ஜூன்", "ஜூலை", "ஆகஸ்ட்", "செப்டம்பர்", "அக்டோபர்", "நவம்பர்", "டிசம்பர்r"],
        months_short: ["ஜனவரி", "பெப்ரவரி", "மார்ச்", "ஏப்ரல்", "மே", "ஜூன்", "ஜூலை", "ஆகஸ்ட்", "செப்டம்பர்", "அக்டோபர்", "நவம்பர்", "டிசம்பர்r"],
    },
    // te_IN
    Names {
        days: ["సోమవారం", "మంగళవారం", "బుధవారం", "గురువారం", "శుక్రవారం", "శనివారం", "ఆదివారం"],
        days_short: ["సోమ", "మంగళ", "బుధ", "గురు", "శుక్ర", "శని", "ఆది"],
        months: ["జనవరి", "ఫిబ్రవరి", "మార్చి", "ఏప్రిల్", "మే", "జూన్", "జూలై", "ఆగస్టు", "సెప్టెంబర్", "అక్టోబర్", "నవంబర్", "డిసెంబర్"],
        months_short: ["జనవరి", "ఫిబ్రవరి", "మార్చి", "ఏప్రిల్", "మే", "జూన్", "జూలై", "ఆగస్టు", "సెప్టెంబర్", "అక్టోబర్", "నవంబర్", "డిసెంబర్"],
    },
    // th_TH
    Names {
        days: ["จันทร์", "อังคาร", "พุธ", "พฤหัสบดี", "ศุกร์", "เสาร์", "อาทิตย์"],
        days_short: ["จ.", "อ.", "พ.", "พฤ.", "ศ.", "ส.", "อา."],
        months: ["มกราคม", "กุมภาพันธ์", "มีนาคม", "เมษายน", "พฤษภาคม", "มิถุนายน", "กรกฎาคม", "สิงหาคม", "กันยายน", "ตุลาคม", "พฤศจิกายน", "ธันวาคม"],
        months_short: ["ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.", "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.", "พ.ย.", "ธ.ค."],
    },
    // tr_TR
    Names {
        days: ["Pazartesi", "Salı", "Çarşamba", "Perşembe", "Cuma", "Cumartesi", "Pazar"],
        days_short: ["Pzt", "Sal", "Çrş", "Prş", "Cum", "Cts", "Paz"],
        months: ["Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim", "Kasım", "Aralık"],
        months_short: ["Oca", "Şub", "Mar", "Nis", "May", "Haz", "Tem", "Ağu", "Eyl", "Eki", "Kas", "Ara"],
    },
    // uk_UA
    Names {
        days: ["Понеділок", "Вівторок", "Середа", "Четвер", "П'ятниця", "Субота", "Неділя"],
        days_short: ["Пнд", "Втр", "Срд", "Чтв", "Птн", "Сбт", "Ндл"],
        months: ["Січень", "Лютий", "Березень", "Квітень", "Травень", "Червень", "Липень", "Серпень", "Вересень", "Жовтень", "Листопад", "Грудень"],
        months_short: ["Січ", "Лют", "Бер", "Кві", "Тра", "Чер", "Лип", "Сер", "Вер", "Жов", "Лис", "Гру"],
    },
    // ur_PK
    Names {
        days: ["پير", "منگل", "بدھ", "جمعرات", "جمعه", "هفته", "اتوار"],
        days_short: ["پير", "منگل", "بدھ", "جمعرات", "جمعه", "هفته", "اتوار"],
        months: ["جنوري", "فروري", "مارچ", "اپريل", "مٓی", "جون", "جولاي", "اگست", "ستمبر", "اكتوبر", "نومبر", "دسمبر"],
        months_short: ["جنوري", "فروري", "مارچ", "اپريل", "مٓی", "جون", "جولاي", "اگست", "ستمبر", "اكتوبر", "نومبر", "دسمبر"],
    },
    // vi_VN
    Names {
        days: ["Thứ hai ", "Thứ ba ", "Thứ tư ", "Thứ năm ", "Thứ sáu ", "Thứ bảy ", "Chủ nhật "],
        days_short: ["Th 2 ", "Th 3 ", "Th 4 ", "Th 5 ", "Th 6 ", "Th 7 ", "CN "],
        months: ["Tháng một", "Tháng hai", "Tháng ba", "Tháng tư", "Tháng năm", "Tháng sáu", "Tháng bảy", "Tháng tám", "Tháng chín", "Tháng mười", "Tháng mười một", "Tháng mười hai"],
        months_short: ["Thg 1", "Thg 2", "Thg 3", "Thg 4", "Thg 5", "Thg 6", "Thg 7", "Thg 8", "Thg 9", "Thg 10", "Thg 11", "Thg 12"],
    },
    // zh_CN
    Names {
        days: ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"],
        days_short: ["一", "二", "三", "四", "五", "六", "日"],
        months: ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"],
        months_short: [" 1月", " 2月", " 3月", " 4月", " 5月", " 6月", " 7月", " 8月", " 9月", "10月", "11月", "12月"],
    },
    // zh_TW
    Names {
        days: ["週一", "週二", "週三", "週四", "週五", "週六", "週日"],
        days_short: ["一", "二", "三", "四", "五", "六", "日"],
        months: ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"],
        months_short: [" 1月", " 2月", " 3月", " 4月", " 5月", " 6月", " 7月", " 8月", " 9月", "10月", "11月", "12月"],
    },
    // el_GR
    Names {
        days: ["Δευτέρα", "Τρίτη", "Τετάρτη", "Πέμπτη", "Παρασκευή", "Σάββατο", "Κυριακή"],
        days_short: ["Δευ", "Τρί", "Τετ", "Πέμ", "Παρ", "Σάβ", "Κυρ"],
        months: ["Ιανουάριος", "Φεβρουάριος", "Μάρτιος", "Απρίλιος", "Μάιος", "Ιούνιος", "Ιούλιος", "Αύγουστος", "Σεπτέμβριος", "Οκτώβριος", "Νοέμβριος", "Δεκέμβριος"],
        months_short: ["Ιαν", "Φεβ", "Μάρ", "Απρ", "Μάι", "Ιούν", "Ιούλ", "Αύγ", "Σεπ", "Οκτ", "Νοέ", "Δεκ"],
    },
    // rm_CH
    Names {
        days: ["glindesdi", "mardi", "mesemna", "gievgia", "venderdi", "sonda", "dumengia"],
        days_short: ["gli", "ma", "me", "gie", "ve", "so", "du"],
        months: ["schaner", "favrer", "mars", "avrigl", "matg", "zercladur", "fanadur", "avust", "settember", "october", "november", "december"],
        months_short: ["schan", "favr", "mars", "avr", "matg", "zercl", "fan", "avust", "sett", "oct", "nov", "dec"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_as_locales_do() {
        let check = |name: &str, number: &str, expect: &str| {
            let locale = &LOCALES[find(name.as_bytes()).expect("a locale")];
            assert_eq!(locale.digits.write(number), expect, "{name}");
        };
        check("en_US", "-1234567890.89", "-1,234,567,890.89");
        check("de_DE", "1234.5", "1.234,5");
        check("DE_ch", "123456", "123'456");
        check("en_IN", "1234567890.89", "1,23,45,67,890.89");
        check("fr_FR", "1234567890.89", "1234567890,89");
        check("en_US", "12", "12");
        assert_eq!(find(b"nosuch"), None);
        assert_eq!(LOCALES[ENGLISH].name, "en_US");
    }
}
