# frozen_string_literal: true
require_relative 'application'
require 'rack/handler/webrick'

Rack::Handler::WEBrick.run(Shop, Host: '127.0.0.1', Port: ENV['APP_HTTP_PORT'].to_i, AccessLog: [], Logger: WEBrick::Log.new($stderr, WEBrick::Log::ERROR))
