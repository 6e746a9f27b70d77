# frozen_string_literal: true
class Stock < ActiveRecord::Migration[6.1]
  def change
    rename_column :authors, :full_name, :name
    reversible do |way|
      way.up { change_column :authors, :name, :string, limit: 100, null: false }
      way.down { change_column :authors, :name, :string, limit: 60, null: false }
    end
    add_index :authors, %i[name born], order: { born: :desc }
    add_column :authors, :slug, :virtual, type: :string, as: "LOWER(REPLACE(`name`, ' ', '-'))", stored: true
    add_column :books, :stock, :integer, null: false, default: 0, unsigned: true
    add_column :books, :published_at, :datetime, precision: 6
    add_column :books, :details, :json
    add_index :books, :title, length: 20
    add_check_constraint :books, 'price >= 0', name: 'price_not_negative'
    create_table :orders, id: :bigint, charset: 'utf8mb4' do |t|
      t.references :book, null: false, foreign_key: true
      t.integer :count, limit: 2, null: false
      t.decimal :total, precision: 12, scale: 2, null: false
    end
    change_column_comment :books, :stock, from: nil, to: 'how many are there'
    change_column_default :orders, :count, from: nil, to: 1
  end
end
