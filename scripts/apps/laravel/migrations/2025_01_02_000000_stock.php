<?php
use Illuminate\Database\Migrations\Migration;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Schema;

return new class extends Migration
{
    public function up()
    {
        DB::statement('ALTER TABLE authors CHANGE full_name name VARCHAR(100) NOT NULL');
        Schema::table('authors', function (Blueprint $table) {
            $table->string('slug', 120)->storedAs("LOWER(REPLACE(`name`, ' ', '-'))")->after('name');
            $table->index(['name', 'born'], 'author_by_name');
        });
        Schema::table('books', function (Blueprint $table) {
            $table->unsignedInteger('stock')->default(0)->after('price')->comment('how many are there');
            $table->dateTime('published_at', 6)->nullable();
            $table->json('details')->nullable();
            $table->string('first_award')->virtualAs("JSON_UNQUOTE(JSON_EXTRACT(details, '$.awards[0]'))")->nullable();
            $table->index('first_award');
            $table->dropColumn('token');
        });
        Schema::create('orders', function (Blueprint $table) {
            $table->id();
            $table->foreignId('book_id')->constrained();
            $table->unsignedSmallInteger('count');
            $table->decimal('total', 12, 2);
        });
        DB::table('tags')->insertOrIgnore([['name' => 'sf'], ['name' => 'SF'], ['name' => 'new']]);
    }

    public function down()
    {
        Schema::dropIfExists('orders');
        DB::table('tags')->delete();
        Schema::table('books', function (Blueprint $table) {
            $table->uuid('token')->nullable();
            $table->dropIndex(['first_award']);
            $table->dropColumn(['first_award', 'stock', 'published_at', 'details']);
        });
        Schema::table('authors', function (Blueprint $table) {
            $table->dropIndex('author_by_name');
            $table->dropColumn('slug');
        });
        DB::statement('ALTER TABLE authors CHANGE name full_name VARCHAR(60) NOT NULL');
    }
};
