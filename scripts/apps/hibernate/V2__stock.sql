ALTER TABLE authors RENAME COLUMN full_name TO name, MODIFY COLUMN email VARCHAR(200) NOT NULL, ADD INDEX by_name (name, born DESC);
ALTER TABLE authors MODIFY name VARCHAR(100) NOT NULL;
ALTER TABLE books ADD COLUMN stock INT NOT NULL DEFAULT 0, ADD COLUMN published_at DATETIME(6), ADD COLUMN details JSON, ADD CONSTRAINT stocked CHECK (stock >= 0);
CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  book_id BIGINT NOT NULL,
  count SMALLINT NOT NULL,
  total DECIMAL(12, 2) NOT NULL,
  FOREIGN KEY (book_id) REFERENCES books (id) ON DELETE CASCADE
);
CREATE TABLE orders_seq (next_val BIGINT);
INSERT INTO orders_seq VALUES (1);
CREATE VIEW shelf AS SELECT b.id, b.title, a.name AS author FROM books b JOIN authors a ON a.id = b.author_id;
