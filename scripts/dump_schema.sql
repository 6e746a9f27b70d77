-- What a dump has to carry: one of everything that a schema of MySQL's may have and this server has, and rows. Loaded by dump.py.
SET NAMES utf8mb4;
CREATE DATABASE everything DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_ci;
CREATE DATABASE `other one` DEFAULT CHARACTER SET latin1;
USE everything;

CREATE TABLE parent (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  code VARCHAR(20) CHARACTER SET latin1 NOT NULL DEFAULT 'it''s "x" \\ \n',
  name VARCHAR(100) COLLATE utf8mb4_0900_as_cs DEFAULT NULL COMMENT 'a ''quoted'' comment; with; semicolons',
  above INT UNSIGNED DEFAULT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY by_name (name),
  KEY by_above (above),
  CONSTRAINT above_is_one FOREIGN KEY (above) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE NO ACTION
) ENGINE=InnoDB AUTO_INCREMENT=1000 COMMENT='it''s a \\ table';
INSERT INTO parent (id, code, name, above) VALUES (1, 'é', 'Größe', NULL), (2, DEFAULT, 'grösse', 1), (5, '', NULL, 2);
INSERT INTO parent (code, name) VALUES ('auto', '𝄞 clef');

CREATE TABLE child (
  a INT UNSIGNED NOT NULL,
  b SMALLINT NOT NULL,
  other BIGINT DEFAULT NULL,
  PRIMARY KEY (a, b),
  KEY by_other (other),
  CONSTRAINT to_parent FOREIGN KEY (a) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB;
INSERT INTO child VALUES (1, -1, NULL), (2, 2, 22), (2, 3, -9223372036854775808);

CREATE TABLE made (
  a INT NOT NULL DEFAULT '3',
  b INT DEFAULT NULL,
  plus INT GENERATED ALWAYS AS (a + b) STORED,
  text_of VARCHAR(40) GENERATED ALWAYS AS (CONCAT(a, '-', COALESCE(b, 'none'))) VIRTUAL,
  hidden INT DEFAULT '5' /*!80023 INVISIBLE */,
  doc JSON DEFAULT (JSON_OBJECT('a', 1, 'b', JSON_ARRAY('x', NULL))),
  key_of BINARY(16) DEFAULT (UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db')),
  soon DATETIME DEFAULT ((TIMESTAMP'2024-02-29 12:00:00' + INTERVAL 1 DAY)),
  changed TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  KEY by_text (text_of),
  KEY by_sum (plus DESC, a),
  KEY by_function ((LOWER(text_of)), b),
  CONSTRAINT a_is_small CHECK (a < 1000),
  CONSTRAINT not_seven CHECK (b <> 7) /*!80016 NOT ENFORCED */
) ENGINE=InnoDB;
INSERT INTO made (a, b, changed) VALUES (1, 2, '2024-01-01 00:00:00.123'), (10, NULL, NULL), (999, 7, '2000-12-31 23:59:59.999');
INSERT INTO made (hidden, doc, changed) VALUES (77, '{"deep": [1, 2.50, {"k": "\\"quoted\\""}], "é": null}', NULL);

CREATE TABLE kinds (
  ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT, i INT, iz INT(8) ZEROFILL, bi BIGINT, bu BIGINT UNSIGNED, bo BOOLEAN,
  f FLOAT, d DOUBLE, de DECIMAL(65,30), bits BIT(17), y YEAR,
  dt DATE, t TIME(6), dtt DATETIME(6), ts TIMESTAMP NULL,
  c CHAR(10), v VARCHAR(300), vb VARBINARY(20), bin BINARY(5), tt TINYTEXT, te TEXT, mt MEDIUMTEXT, lt LONGTEXT, tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB,
  e ENUM('a', 'it''s', 'ü') CHARACTER SET utf8mb3, s SET('x', 'y', 'z w'), js JSON,
  KEY by_prefix (v(10), c), KEY hidden_one (i) /*!80000 INVISIBLE */, UNIQUE KEY with_comment (bu) COMMENT 'an index''s comment'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO kinds VALUES
  (-128, 255, -32768, -8388608, -2147483648, 42, -9223372036854775808, 18446744073709551615, TRUE,
   -1.5e-30, 1.7976931348623157e308, -12345678901234567890123456789012345.123456789012345678901234567891, b'10101010101010101', 1901,
   '1000-01-01', '-838:59:59', '9999-12-31 23:59:59.999999', '1970-01-02 00:00:01',
   'pad  ', 'é\0\Z\'\\', x'00ff', x'61', 'tiny', 'text\r\n', REPEAT('m', 300), '', x'00', x'270a5c0d1a00', x'', x'ff',
   'it''s', 'x,z w', '[1, "two", null, true, 3.5e10]'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

CREATE TABLE `select` (`from` INT PRIMARY KEY, `we``ird` VARCHAR(10), `mit Leer` INT, `ümläut` INT) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
INSERT INTO `select` VALUES (1, 'x', 2, 3);
CREATE TABLE no_key (a INT, b VARCHAR(5)) ENGINE=InnoDB DEFAULT CHARSET=ascii;
INSERT INTO no_key VALUES (1, 'a'), (1, 'a'), (NULL, NULL);
CREATE TABLE empty_one (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AUTO_INCREMENT=77;

CREATE VIEW all_children AS SELECT p.name, c.a, c.b FROM parent p JOIN child c ON c.a = p.id;
CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW a_checked (key_no, text_no) AS SELECT a, b FROM child WHERE b > 0 WITH CASCADED CHECK OPTION;
CREATE VIEW a_first AS SELECT COUNT(*) AS n, MAX(b) AS most FROM all_children;
CREATE ALGORITHM=TEMPTABLE VIEW zz_last AS SELECT `from`, UPPER(`we``ird`) AS `up``per` FROM `select` UNION ALL SELECT 1, 'it''s';

USE `other one`;
CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(10), to_other INT UNSIGNED, CONSTRAINT across FOREIGN KEY (to_other) REFERENCES everything.parent (id)) ENGINE=InnoDB;
INSERT INTO t VALUES (1, 'é', 1), (2, NULL, NULL);
CREATE VIEW across_databases AS SELECT t.word, p.name FROM t LEFT JOIN everything.parent p ON p.id = t.to_other;
