# frozen_string_literal: true
# What `rails db:…` does: migrate, rollback, schema (dump), load.
require_relative 'application'
require 'active_record/schema_dumper'

SCHEMA = File.join(__dir__, 'schema.rb')
migrations = ActiveRecord::MigrationContext.new(File.join(__dir__, 'migrate'), ActiveRecord::SchemaMigration)
case ARGV[0]
when 'migrate' then migrations.migrate
when 'rollback' then migrations.rollback(1)
when 'schema'
  File.open(SCHEMA, 'w') { |file| ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, file) }
  puts File.read(SCHEMA)
when 'load'
  ActiveRecord::Base.connection.execute('SET foreign_key_checks = 0')
  load SCHEMA
end
