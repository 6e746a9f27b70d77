-- AlterTable
ALTER TABLE `authors` RENAME COLUMN `full_name` TO `name`;
ALTER TABLE `authors` MODIFY `name` VARCHAR(100) NOT NULL;

-- AlterTable
ALTER TABLE `books` ADD COLUMN `cover` LONGBLOB NULL,
    ADD COLUMN `details` JSON NULL,
    ADD COLUMN `published_at` DATETIME(6) NULL,
    ADD COLUMN `stock` INTEGER UNSIGNED NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE `orders` (
    `id` BIGINT NOT NULL AUTO_INCREMENT,
    `book_id` INTEGER NOT NULL,
    `count` SMALLINT UNSIGNED NOT NULL,
    `total` DECIMAL(12, 2) NOT NULL,

    PRIMARY KEY (`id`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;

-- CreateIndex
CREATE INDEX `authors_name_born_idx` ON `authors`(`name`, `born` DESC);

-- CreateIndex
CREATE INDEX `books_title_idx` ON `books`(`title`(20));

-- AddForeignKey
ALTER TABLE `orders` ADD CONSTRAINT `orders_book_id_fkey` FOREIGN KEY (`book_id`) REFERENCES `books`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;
