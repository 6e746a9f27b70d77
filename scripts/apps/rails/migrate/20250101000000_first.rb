# frozen_string_literal: true
class First < ActiveRecord::Migration[6.1]
  def change
    create_table :authors, comment: 'who writes' do |t|
      t.string :full_name, null: false, limit: 60
      t.string :email, null: false, index: { unique: true }
      t.date :born
      t.integer :kind, null: false, default: 0, limit: 1
      t.timestamps
    end
    create_table :tags do |t|
      t.string :name, null: false, limit: 30, index: { unique: true }
    end
    create_table :books do |t|
      t.string :title, null: false, limit: 200
      t.references :author, null: false, foreign_key: { on_delete: :cascade }
      t.decimal :price, precision: 10, scale: 2, null: false
      t.text :blurb, size: :medium
      t.binary :cover
      t.timestamps precision: 6
    end
    create_join_table :books, :tags do |t|
      t.index %i[book_id tag_id], unique: true
    end
  end
end
