<?php
// The bookshop's routes.
require __DIR__ . '/bootstrap.php';

use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\QueryException;

function answer($value, $status = 200)
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($value, JSON_UNESCAPED_UNICODE);
    return true;
}

class OutOfStock extends Exception
{
}

$path = explode('/', trim(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), '/'));
$route = $_SERVER['REQUEST_METHOD'] . ' ' . $path[0] . (isset($path[1]) ? '/' : '');
$key = $path[1] ?? null;
$body = json_decode(file_get_contents('php://input'), true);
try {
    switch ($route) {
        case 'GET authors':
            return answer(Author::withCount('books')->orderBy('name')->orderBy('id')->get());
        case 'POST authors':
            return answer(Author::create($body)->refresh(), 201);
        case 'GET authors/':
        case 'PUT authors/':
        case 'DELETE authors/':
            $author = Author::find($key);
            if (!$author) {
                return answer(['error' => 'not found'], 404);
            }
            if ($route == 'DELETE authors/') {
                DB::connection()->transaction(function () use ($author) {
                    DB::table('orders')->whereIn('book_id', $author->books()->select('id'))->delete();
                    $author->delete();
                });
                return answer(null, 204);
            }
            if ($route == 'PUT authors/') {
                $author->update($body);
            }
            return answer($author->refresh());
        case 'POST books':
            $tags = $body['tags'];
            unset($body['tags']);
            $book = DB::connection()->transaction(function () use ($body, $tags) {
                $book = Book::create($body);
                $book->tags()->sync(array_map(fn ($name) => Tag::firstOrCreate(['name' => $name])->id, $tags));
                return $book;
            });
            return answer($book->refresh()->shown(), 201);
        case 'GET books':
            $found = Book::with('author', 'tags')->orderByDesc('price')->orderBy('id');
            if (isset($_GET['tag'])) {
                $found->whereHas('tags', fn ($tags) => $tags->where('name', $_GET['tag']));
            }
            if (isset($_GET['min_price'])) {
                $found->where('price', '>=', $_GET['min_price']);
            }
            if (isset($_GET['q'])) {
                $found->where('title', 'like', '%' . addcslashes($_GET['q'], '%_\\') . '%');
            }
            $page = $found->paginate(3, ['*'], 'page', $_GET['page'] ?? 1);
            return answer(['total' => $page->total(), 'books' => $page->getCollection()->map(fn ($book) => $book->shown())]);
        case 'GET books/':
        case 'PATCH books/':
            $book = Book::find($key);
            if (!$book) {
                return answer(['error' => 'not found'], 404);
            }
            if ($route == 'PATCH books/') {
                $book->update($body);
            }
            return answer($book->refresh()->shown());
        case 'POST orders':
            $made = DB::connection()->transaction(function () use ($body) {
                return array_map(function ($line) {
                    $book = Book::lockForUpdate()->findOrFail($line['book_id']);
                    if ($book->stock < $line['count']) {
                        throw new OutOfStock;
                    }
                    $book->decrement('stock', $line['count']);
                    return Order::create(['book_id' => $book->id, 'count' => $line['count'], 'total' => number_format($book->price * $line['count'], 2, '.', '')])->refresh();
                }, $body);
            });
            return answer($made, 201);
        case 'GET orders':
            return answer(Order::join('books', 'books.id', '=', 'orders.book_id')->orderBy('orders.id')->get(['orders.*', 'books.title']));
        case 'GET report':
            return answer(Book::join('authors', 'authors.id', '=', 'author_id')->groupBy('authors.name')->orderByDesc('value')->orderBy('authors.name')
                ->get([ 'authors.name', DB::raw('COUNT(*) AS books, SUM(price * stock) AS value, AVG(price) AS average, MAX(published_at) AS latest')]));
    }
    return answer(['error' => 'no route'], 404);
} catch (OutOfStock $e) {
    return answer(['error' => 'out of stock'], 409);
} catch (QueryException $e) {
    return answer(['error' => $e->errorInfo], $e->errorInfo[0] == '23000' ? 409 : 500);
}

