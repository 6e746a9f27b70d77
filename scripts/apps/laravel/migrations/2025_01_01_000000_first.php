<?php
use Illuminate\Database\Migrations\Migration;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Support\Facades\Schema;

return new class extends Migration
{
    public function up()
    {
        Schema::create('authors', function (Blueprint $table) {
            $table->id();
            $table->string('full_name', 60);
            $table->string('email')->unique();
            $table->date('born')->nullable();
            $table->enum('kind', ['writer', 'editor'])->default('writer');
        });
        Schema::create('tags', function (Blueprint $table) {
            $table->increments('id');
            $table->string('name', 30)->unique();
        });
        Schema::create('books', function (Blueprint $table) {
            $table->id();
            $table->string('title', 200)->index();
            $table->foreignId('author_id')->constrained()->cascadeOnDelete();
            $table->decimal('price', 10, 2);
            $table->mediumText('blurb')->nullable();
            $table->uuid('token')->nullable();
        });
        Schema::create('book_tag', function (Blueprint $table) {
            $table->foreignId('book_id')->constrained()->cascadeOnDelete();
            $table->unsignedInteger('tag_id');
            $table->foreign('tag_id')->references('id')->on('tags')->onDelete('cascade');
            $table->primary(['book_id', 'tag_id']);
        });
    }

    public function down()
    {
        foreach (['book_tag', 'books', 'tags', 'authors'] as $table) {
            Schema::dropIfExists($table);
        }
    }
};
