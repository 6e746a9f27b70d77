# frozen_string_literal: true
# A Rails application in one file: models and controllers of a bookshop.
ENV['RAILS_ENV'] = 'production'
require 'logger'
require 'rails'
require 'active_record/railtie'
require 'action_controller/railtie'

class Shop < Rails::Application
  config.root = __dir__
  config.eager_load = false
  config.secret_key_base = 'not a secret'
  config.hosts.clear
  config.logger = Logger.new($stderr, level: Logger::ERROR)
  config.consider_all_requests_local = true
  config.load_defaults '6.1'
end

Shop.initialize!

class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true
end

class Author < ApplicationRecord
  has_many :books, dependent: :destroy
  enum kind: { writer: 0, editor: 1 }

  def shown(count = nil)
    { id: id, name: name, email: email, born: born, kind: kind, slug: slug, books: count }
  end
end

class Tag < ApplicationRecord
  has_and_belongs_to_many :books
end

class Book < ApplicationRecord
  belongs_to :author, optional: true
  has_and_belongs_to_many :tags
  has_many :orders, dependent: :delete_all

  def shown
    { id: id, title: title, author: author&.name, price: price, stock: stock, published_at: published_at&.iso8601(6), details: details, tags: tags.map(&:name).sort }
  end
end

class Order < ApplicationRecord
  belongs_to :book
end

class OutOfStock < StandardError; end

class ShopController < ActionController::API
  rescue_from(ActiveRecord::RecordNotFound) { render json: { error: 'not found' }, status: 404 }
  rescue_from(ActiveRecord::RecordNotUnique) { |e| render json: { error: e.message }, status: 409 }
  rescue_from(ActiveRecord::InvalidForeignKey) { |e| render json: { error: e.message.sub(/`shop_rails`\./, '') }, status: 409 }
  rescue_from(OutOfStock) { render json: { error: 'out of stock' }, status: 409 }

  def authors
    found = Author.left_joins(:books).group(:id).select('authors.*, COUNT(books.id) AS book_count').order(:name, :id)
    render json: found.map { |a| a.shown(a.book_count) }
  end

  def add_author
    render json: Author.create!(body).shown, status: 201
  end

  def author
    render json: Author.find(params[:id]).shown
  end

  def change_author
    author = Author.find(params[:id])
    author.update!(body)
    render json: author.reload.shown
  end

  def drop_author
    Author.find(params[:id]).destroy!
    head 204
  end

  def add_book
    fields = body
    tags = fields.delete('tags')
    book = Book.transaction do
      made = Book.create!(fields)
      made.tags = tags.map { |name| Tag.find_or_create_by!(name: name) }
      made
    end
    render json: Book.find(book.id).shown, status: 201
  end

  def books
    found = Book.includes(:author, :tags).order(price: :desc, id: :asc)
    found = found.where(id: Book.joins(:tags).where(tags: { name: params[:tag] }).select(:id)) if params[:tag]
    found = found.where('price >= ?', BigDecimal(params[:min_price])) if params[:min_price]
    found = found.where('title LIKE ?', "%#{Book.sanitize_sql_like(params[:q])}%") if params[:q]
    render json: found.limit(3).offset(3 * (params.fetch(:page, 1).to_i - 1)).map(&:shown)
  end

  def book
    render json: Book.find(params[:id]).shown
  end

  def change_book
    book = Book.find(params[:id])
    book.update!(body)
    render json: book.reload.shown
  end

  def add_orders
    made = Order.transaction do
      body_list.map do |line|
        book = Book.lock.find(line['book_id'])
        raise OutOfStock if book.stock < line['count']

        book.decrement!(:stock, line['count'])
        Order.create!(book: book, count: line['count'], total: book.price * line['count'])
      end
    end
    render json: made.map { |o| { id: o.id, total: o.total } }, status: 201
  end

  def orders
    render json: Order.joins(:book).order(:id).pluck(:id, 'books.title', :count, :total)
  end

  def report
    found = Book.joins(:author).group('authors.name').order(Arel.sql('SUM(price * stock) DESC, authors.name'))
                .pluck(Arel.sql('authors.name, COUNT(*), SUM(price * stock), AVG(price), MAX(published_at)'))
    render json: found
  end

  private

  def body
    JSON.parse(request.raw_post)
  end

  alias body_list body
end

Shop.routes.draw do
  get 'authors', to: 'shop#authors'
  post 'authors', to: 'shop#add_author'
  get 'authors/:id', to: 'shop#author'
  put 'authors/:id', to: 'shop#change_author'
  delete 'authors/:id', to: 'shop#drop_author'
  get 'books', to: 'shop#books'
  post 'books', to: 'shop#add_book'
  get 'books/:id', to: 'shop#book'
  patch 'books/:id', to: 'shop#change_book'
  get 'orders', to: 'shop#orders'
  post 'orders', to: 'shop#add_orders'
  get 'report', to: 'shop#report'
end
