<?php
// What `artisan migrate…` does: migrate, rollback, status; and columns, as its schema builder lists them.
require __DIR__ . '/bootstrap.php';

use Illuminate\Database\Migrations\DatabaseMigrationRepository;
use Illuminate\Database\Migrations\Migrator;
use Illuminate\Filesystem\Filesystem;
use Illuminate\Support\Facades\Facade;

$container = $capsule->getContainer();
$container->instance('db', $capsule->getDatabaseManager());
$container->bind('db.schema', fn () => $capsule->schema());
Facade::setFacadeApplication($container);
$repository = new DatabaseMigrationRepository($capsule->getDatabaseManager(), 'migrations');
if (!$repository->repositoryExists()) {
    $repository->createRepository();
}
$migrator = new Migrator($repository, $capsule->getDatabaseManager(), new Filesystem);
$paths = [__DIR__ . '/migrations'];
switch ($argv[1]) {
    case 'migrate':
        // One batch for each, so that one can be rolled back.
        echo implode("\n", array_map('basename', $migrator->run($paths, ['step' => true]))), "\n";
        break;
    case 'rollback':
        echo implode("\n", array_map('basename', $migrator->rollback($paths, ['step' => 1]))), "\n";
        break;
    case 'status':
        echo json_encode($repository->getMigrationBatches()), "\n";
        break;
    case 'columns':
        foreach ($capsule->schema()->getAllTables() as $table) {
            $name = array_values((array) $table)[0];
            foreach ($capsule->schema()->getColumnListing($name) as $column) {
                echo "$name.$column ", json_encode($capsule->schema()->hasColumn($name, $column)), "\n";
            }
        }
        break;
}
