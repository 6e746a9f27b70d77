<?php
// Eloquent outside of Laravel's skeleton: a connection, the models of a bookshop.
error_reporting(E_ALL & ~E_DEPRECATED);
require_once 'Illuminate/Database/autoload.php';
require_once 'Illuminate/Events/autoload.php';
require_once 'Illuminate/Filesystem/autoload.php';
require_once 'Illuminate/Pagination/autoload.php';

use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;

$capsule = new Manager;
$capsule->addConnection([
    'driver' => 'mysql', 'host' => getenv('APP_HOST'), 'port' => getenv('APP_PORT'), 'database' => getenv('APP_DATABASE'), 'username' => getenv('APP_USER'), 'password' => getenv('APP_PASSWORD'),
    'charset' => 'utf8mb4', 'collation' => 'utf8mb4_0900_ai_ci', 'prefix' => '', 'strict' => true, 'engine' => 'InnoDB',
]);
$capsule->setEventDispatcher(new Illuminate\Events\Dispatcher($capsule->getContainer()));
$capsule->setAsGlobal();
$capsule->bootEloquent();

class Author extends Model
{
    public $timestamps = false;
    protected $guarded = [];
    protected $casts = ['born' => 'date:Y-m-d'];

    public function books()
    {
        return $this->hasMany(Book::class);
    }
}

class Tag extends Model
{
    public $timestamps = false;
    protected $guarded = [];
}

class Book extends Model
{
    public $timestamps = false;
    protected $guarded = [];
    protected $casts = ['details' => 'array', 'price' => 'decimal:2'];

    public function author()
    {
        return $this->belongsTo(Author::class);
    }

    public function tags()
    {
        return $this->belongsToMany(Tag::class)->orderBy('name');
    }

    public function shown()
    {
        return ['id' => $this->id, 'title' => $this->title, 'author' => $this->author->name, 'price' => $this->price, 'stock' => $this->stock, 'published_at' => $this->published_at,
            'details' => $this->details, 'tags' => $this->tags->pluck('name')];
    }
}

class Order extends Model
{
    public $timestamps = false;
    protected $guarded = [];
}
