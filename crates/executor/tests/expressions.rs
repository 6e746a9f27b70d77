//! Expressions without tables, with results as the MySQL manual documents them.

mod support;

use support::Database;

fn check(cases: &[(&str, &str)]) {
    let mut db = Database::new();
    let mut failed = String::new();
    for (sql, expect) in cases {
        let got = db.query(&format!("SELECT {sql}"));
        if got != *expect {
            failed.push_str(&format!("{sql}: {got} instead of {expect}\n"));
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn arithmetic() {
    check(&[
        ("1+2", "3"),
        ("3-5", "-2"),
        ("2*3.50", "7.00"),
        ("7/2", "3.5000"),
        ("1/3", "0.3333"),
        ("7 DIV 2", "3"),
        ("-7 DIV 2", "-3"),
        ("7 % 3", "1"),
        ("-7 % 3", "-1"),
        ("5.5 % 2", "1.5"),
        ("1/0", "NULL"),
        ("1 DIV 0", "NULL"),
        ("NULL+1", "NULL"),
        ("'3'+4", "7"),
        ("'3abc'+4", "7"),
        ("0.1+0.2", "0.3"),
        ("1e0/3", "0.3333333333333333"),
        ("10 & 6", "2"),
        ("10 | 6", "14"),
        ("10 ^ 6", "12"),
        ("1 << 3", "8"),
        ("~0", "18446744073709551615"),
        ("-(-5)", "5"),
        ("9223372036854775807+0", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("9223372036854775807+1", "ERROR 1690 (22003): BIGINT value is out of range in '(9223372036854775807 + 1)'"),
        ("1-18446744073709551615", "ERROR 1690 (22003): BIGINT UNSIGNED value is out of range in '(1 - 18446744073709551615)'"),
    ]);
}

#[test]
fn logic_and_comparison() {
    check(&[
        ("1=1", "1"),
        ("1=2", "0"),
        ("NULL=NULL", "NULL"),
        ("NULL<=>NULL", "1"),
        ("1<=>NULL", "0"),
        ("1 AND NULL", "NULL"),
        ("0 AND NULL", "0"),
        ("1 OR NULL", "1"),
        ("0 OR NULL", "NULL"),
        ("NOT NULL", "NULL"),
        ("1 XOR 1", "0"),
        ("1 XOR NULL", "NULL"),
        ("'a'='A'", "1"),
        ("'a'='a '", "0"),
        ("'a'<'b'", "1"),
        ("'1'=1", "1"),
        ("'1.0'=1", "1"),
        ("'a'=0", "1"),
        ("2 BETWEEN 1 AND 3", "1"),
        ("2 NOT BETWEEN 1 AND 3", "0"),
        ("2 BETWEEN 3 AND NULL", "0"),
        ("2 IN (1,2,3)", "1"),
        ("2 IN (1,NULL)", "NULL"),
        ("2 NOT IN (1,3)", "1"),
        ("(1,2) = (1,2)", "1"),
        ("(1,2) IN ((3,4),(1,2))", "1"),
        ("(1,2) < (1,3)", "1"),
        ("NULL IS NULL", "1"),
        ("0 IS FALSE", "1"),
        ("NULL IS NOT TRUE", "1"),
        ("'abc' LIKE 'a%'", "1"),
        ("'abc' LIKE 'A_C'", "1"),
        ("'a%c' LIKE 'a\\%c'", "1"),
        ("'abc' LIKE 'a|%' ESCAPE '|'", "0"),
        ("'abc' COLLATE utf8mb4_bin = 'ABC'", "0"),
        ("DATE '2024-01-02' > '2024-01-01 23:59:59'", "1"),
        ("TIME '10:00:00' < '11:00'", "1"),
        ("CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END", "two"),
        ("CASE WHEN 1>2 THEN 'a' ELSE 'b' END", "b"),
        ("CASE WHEN 1>2 THEN 'a' END", "NULL"),
        ("IF(1<2,'yes','no')", "yes"),
        ("IFNULL(NULL,10)", "10"),
        ("NULLIF(1,1)", "NULL"),
        ("NULLIF(1,2)", "1"),
        ("COALESCE(NULL,NULL,3)", "3"),
        ("GREATEST(2,0)", "2"),
        ("LEAST('B','A','C')", "A"),
        ("GREATEST(34.0,3.0,5.0,767.0)", "767.0"),
        ("INTERVAL(23, 1, 15, 17, 30, 44, 200)", "3"),
        ("ISNULL(1/0)", "1"),
    ]);
}

#[test]
fn string_functions() {
    check(&[
        ("CONCAT('My', 'S', 'QL')", "MySQL"),
        ("CONCAT('My', NULL)", "NULL"),
        ("CONCAT(14.3)", "14.3"),
        ("CONCAT_WS(',','First',NULL,'Last')", "First,Last"),
        ("SUBSTRING('Quadratically',5)", "ratically"),
        ("SUBSTRING('foobarbar' FROM 4)", "barbar"),
        ("SUBSTRING('Quadratically',5,6)", "ratica"),
        ("SUBSTRING('Sakila', -5, 3)", "aki"),
        ("SUBSTRING('ünïcode', 2, 3)", "nïc"),
        ("LEFT('foobarbar', 5)", "fooba"),
        ("RIGHT('foobarbar', 4)", "rbar"),
        ("LENGTH('tüxt')", "5"),
        ("CHAR_LENGTH('tüxt')", "4"),
        ("UPPER('Hej')", "HEJ"),
        ("LOWER('QUADRATICALLY')", "quadratically"),
        ("TRIM('  bar   ')", "bar"),
        ("TRIM(LEADING 'x' FROM 'xxxbarxxx')", "barxxx"),
        ("TRIM(BOTH 'x' FROM 'xxxbarxxx')", "bar"),
        ("TRIM(TRAILING 'xyz' FROM 'barxxyz')", "barx"),
        ("LTRIM('  barbar')", "barbar"),
        ("LPAD('hi',4,'??')", "??hi"),
        ("LPAD('hi',1,'??')", "h"),
        ("RPAD('hi',5,'?')", "hi???"),
        ("REPLACE('www.mysql.com', 'w', 'Ww')", "WwWwWw.mysql.com"),
        ("INSTR('foobarbar', 'bar')", "4"),
        ("LOCATE('bar', 'foobarbar', 5)", "7"),
        ("LOCATE('xbar', 'foobar')", "0"),
        ("REPEAT('MySQL', 3)", "MySQLMySQLMySQL"),
        ("REVERSE('abc')", "cba"),
        ("HEX('abc')", "616263"),
        ("HEX(255)", "FF"),
        ("UNHEX('4D7953514C')", "MySQL"),
        ("ASCII('dx')", "100"),
        ("CHAR(77,121,83,81,'76')", "MySQL"),
        ("FORMAT(12332.123456, 4)", "12,332.1235"),
        ("FORMAT(12332.2,0)", "12,332"),
        ("FIELD('Bb', 'Aa', 'Bb', 'Cc')", "2"),
        ("ELT(2, 'Aa', 'Bb', 'Cc')", "Bb"),
        ("FIND_IN_SET('b','a,b,c,d')", "2"),
        ("MAKE_SET(1 | 4,'hello','nice','world')", "hello,world"),
        ("EXPORT_SET(5,'Y','N',',',4)", "Y,N,Y,N"),
        ("LENGTH(SPACE(6))", "6"),
        ("STRCMP('text', 'text2')", "-1"),
        ("INSERT('Quadratic', 3, 4, 'What')", "QuWhattic"),
        ("QUOTE('Don\\'t!')", "'Don\\'t!'"),
        ("BIN(12)", "1100"),
        ("OCT(12)", "14"),
        ("CONV('a',16,2)", "1010"),
        ("TO_BASE64('abc')", "YWJj"),
        ("FROM_BASE64('YWJj')", "abc"),
        ("MD5('testing')", "ae2b1fca515949e5d54fb22b8ed95575"),
        ("SHA1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("SHA2('abc', 224)", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        ("SUBSTRING_INDEX('www.mysql.com', '.', -2)", "mysql.com"),
        ("SOUNDEX('Hello')", "H400"),
        ("INET_ATON('10.0.5.9')", "167773449"),
        ("INET_NTOA(167773449)", "10.0.5.9"),
    ]);
}

#[test]
fn numeric_functions() {
    check(&[
        ("ABS(-32)", "32"),
        ("CEILING(1.23)", "2"),
        ("CEIL(-1.23)", "-1"),
        ("FLOOR(-1.23)", "-2"),
        ("ROUND(-1.58)", "-2"),
        ("ROUND(1.298, 1)", "1.3"),
        ("ROUND(23.298, -1)", "20"),
        ("ROUND(2.5)", "3"),
        ("ROUND(25E-1)", "2"),
        ("TRUNCATE(1.223,1)", "1.2"),
        ("TRUNCATE(122,-2)", "100"),
        ("MOD(234, 10)", "4"),
        ("POW(2,-2)", "0.25"),
        ("SQRT(4)", "2"),
        ("SQRT(-16)", "NULL"),
        ("EXP(0)", "1"),
        ("LN(-2)", "NULL"),
        ("LOG(2,65536)", "16"),
        ("LOG10(100)", "2"),
        ("SIGN(-32)", "-1"),
        ("PI()", "3.141593"),
        ("CRC32('MySQL')", "3259397556"),
        ("BIT_COUNT(29)", "4"),
        ("DEGREES(PI())", "180"),
        ("CAST(1.5 AS SIGNED)", "2"),
        ("CAST('12abc' AS SIGNED)", "12"),
        ("CAST(-1 AS UNSIGNED)", "18446744073709551615"),
        ("CAST('1.239' AS DECIMAL(10,2))", "1.24"),
        ("CAST(1 AS CHAR)", "1"),
        ("CAST('abcdef' AS CHAR(3))", "abc"),
        ("CONVERT('2024-01-02', DATE)", "2024-01-02"),
    ]);
}

#[test]
fn temporal_functions() {
    check(&[
        ("NOW()", "2024-05-06 07:08:09"),
        ("NOW(3)", "2024-05-06 07:08:09.123"),
        ("CURDATE()", "2024-05-06"),
        ("CURTIME()", "07:08:09"),
        ("DATE('2003-12-31 01:02:03')", "2003-12-31"),
        ("TIME('2003-12-31 01:02:03')", "01:02:03"),
        ("YEAR('1987-01-01')", "1987"),
        ("QUARTER('2008-04-01')", "2"),
        ("MONTH('2008-02-03')", "2"),
        ("DAYOFMONTH('2007-02-03')", "3"),
        ("HOUR('10:05:03')", "10"),
        ("MINUTE('2008-02-03 10:05:03')", "5"),
        ("SECOND('10:05:03')", "3"),
        ("MICROSECOND('12:00:00.123456')", "123456"),
        ("DATE_ADD('2018-05-01',INTERVAL 1 DAY)", "2018-05-02"),
        ("DATE_SUB('2018-05-01',INTERVAL 1 YEAR)", "2017-05-01"),
        ("DATE_ADD('2020-12-31 23:59:59', INTERVAL 1 SECOND)", "2021-01-01 00:00:00"),
        ("DATE_ADD('2018-12-31 23:59:59', INTERVAL 1 DAY)", "2019-01-01 23:59:59"),
        ("DATE_ADD('2100-12-31 23:59:59', INTERVAL '1:1' MINUTE_SECOND)", "2101-01-01 00:01:00"),
        ("DATE_SUB('2025-01-01 00:00:00', INTERVAL '1 1:1:1' DAY_SECOND)", "2024-12-30 22:58:59"),
        ("DATE_ADD('1900-01-01 00:00:00', INTERVAL '-1 10' DAY_HOUR)", "1899-12-30 14:00:00"),
        ("DATE_ADD('1992-12-31 23:59:59.000002', INTERVAL '1.999999' SECOND_MICROSECOND)", "1993-01-01 00:00:01.000001"),
        ("DATE '2024-01-31' + INTERVAL 1 MONTH", "2024-02-29"),
        ("DATEDIFF('2007-12-31 23:59:59','2007-12-30')", "1"),
        ("TIMESTAMPDIFF(MONTH,'2003-02-01','2003-05-01')", "3"),
        ("TIMESTAMPDIFF(YEAR,'2002-05-01','2001-01-01')", "-1"),
        ("TIMESTAMPDIFF(MINUTE,'2003-02-01','2003-05-01 12:05:55')", "128885"),
        ("DATE_FORMAT('2009-10-04 22:23:00', '%W %M %Y')", "Sunday October 2009"),
        ("DATE_FORMAT('2007-10-04 22:23:00', '%H:%i:%s')", "22:23:00"),
        ("DATE_FORMAT('1900-10-04 22:23:00', '%D %y %a %d %m %b %j')", "4th 00 Thu 04 10 Oct 277"),
        ("DATE_FORMAT('1997-10-04 22:23:00', '%H %k %I %r %T %S %w')", "22 22 10 10:23:00 PM 22:23:00 00 6"),
        ("DATE_FORMAT('1999-01-01', '%X %V')", "1998 52"),
        ("STR_TO_DATE('01,5,2013','%d,%m,%Y')", "2013-05-01"),
        ("STR_TO_DATE('May 1, 2013','%M %d,%Y')", "2013-05-01"),
        ("STR_TO_DATE('2024-01-02 03:04:05', '%Y-%m-%d %H:%i:%s')", "2024-01-02 03:04:05"),
        ("STR_TO_DATE('abc','%Y')", "NULL"),
        ("UNIX_TIMESTAMP('2015-11-13 10:20:19')", "1447410019"),
        ("FROM_UNIXTIME(1447430881)", "2015-11-13 16:08:01"),
        ("LAST_DAY('2004-02-05')", "2004-02-29"),
        ("DAYOFWEEK('2007-02-03')", "7"),
        ("WEEKDAY('2008-02-03 22:23:00')", "6"),
        ("DAYOFYEAR('2007-02-03')", "34"),
        ("WEEK('2008-02-20')", "7"),
        ("WEEK('2008-02-20',1)", "8"),
        ("YEARWEEK('1987-01-01')", "198652"),
        ("DAYNAME('2007-02-03')", "Saturday"),
        ("MONTHNAME('2008-02-03')", "February"),
        ("EXTRACT(YEAR_MONTH FROM '2019-07-02 01:02:03')", "201907"),
        ("EXTRACT(DAY_MINUTE FROM '2019-07-02 01:02:03')", "20102"),
        ("TO_DAYS('2007-10-07')", "733321"),
        ("FROM_DAYS(730669)", "2000-07-03"),
        ("MAKEDATE(2011,31)", "2011-01-31"),
        ("MAKEDATE(2011,0)", "NULL"),
        ("MAKETIME(12,15,30)", "12:15:30"),
        ("SEC_TO_TIME(2378)", "00:39:38"),
        ("TIME_TO_SEC('22:23:00')", "80580"),
        ("PERIOD_ADD(200801,2)", "200803"),
        ("PERIOD_DIFF(200802,200703)", "11"),
        ("TIMEDIFF('2000-01-01 00:00:00', '2000-01-01 00:00:00.000001')", "-00:00:00.000001"),
        ("ADDTIME('2007-12-31 23:59:59.999999', '1 1:1:1.000002')", "2008-01-02 01:01:01.000001"),
        ("DATE_ADD('abc', INTERVAL 1 DAY)", "NULL"),
        ("CONVERT_TZ('2004-01-01 12:00:00','+00:00','+10:00')", "2004-01-01 22:00:00"),
    ]);
}

#[test]
fn information_and_errors() {
    check(&[
        ("DATABASE()", "test"),
        ("CONNECTION_ID()", "7"),
        ("USER()", "root@localhost"),
        ("@x", "NULL"),
        ("@x := 5", "5"),
        ("@@autocommit", "1"),
        ("@@nope", "ERROR 1193 (HY000): Unknown system variable 'nope'"),
        ("nope", "ERROR 1054 (42S22): Unknown column 'nope' in 'field list'"),
        ("nope(1)", "ERROR 1305 (42000): FUNCTION test.nope does not exist"),
        ("ABS()", "ERROR 1582 (42000): Incorrect parameter count in the call to native function 'ABS'"),
        ("(1,2)", "ERROR 1241 (21000): Operand should contain 1 column(s)"),
        ("*", "ERROR 1096 (HY000): No tables used"),
        ("SUM(1)+COUNT(*)", "2"),
        ("(SELECT 1)", "1"),
        ("(SELECT 1 UNION SELECT 2)", "ERROR 1242 (21000): Subquery returns more than 1 row"),
        ("EXISTS (SELECT 1)", "1"),
        ("1 IN (SELECT 2 UNION SELECT 1)", "1"),
        ("3 > ALL (SELECT 1 UNION SELECT 2)", "1"),
        ("ROW_NUMBER() OVER ()", "1"),
    ]);
}

#[test]
fn select_into_sets_variables() {
    let mut db = Database::new();
    assert_eq!(db.query("SELECT 1, 'b' INTO @a, @b"), "");
    assert_eq!(db.query("SELECT @a + 1, @b"), "2|b");
    assert!(db.error("SELECT 1 INTO @a, @b").starts_with("1222 "));
    assert!(db.error("SELECT 1 UNION SELECT 2 INTO @a").starts_with("1172 "));
}
