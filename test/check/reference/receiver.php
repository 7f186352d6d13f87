<?php
/*
 * A receiver by PHP alone, for its own server (php -S 127.0.0.1:3000 receiver.php) or any other. WEBHOOK_SECRET is the signing secret,
 * STATE a folder that holds a file for each event. With PROBE=1 it also answers the probe of `postern check`, which an app that is
 * deployed must not.
 */
declare(strict_types=1);

const MAX_BODY_BYTES = 1024 * 1024;
ini_set('display_errors', '0');

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/webhooks') {
    http_response_code($_SERVER['REQUEST_METHOD'] === 'POST' ? receive() : 405);
} elseif ($path === '/probe' && getenv('PROBE') === '1') {
    answer_probe($_GET['id'], $_SERVER['REQUEST_METHOD'] === 'POST');
} else {
    http_response_code(404);
}

/** The status of the answer. */
function receive(): int
{
    if (strtolower($_SERVER['HTTP_CONTENT_ENCODING'] ?? 'identity') !== 'identity') {
        return 415;
    }
    $body = file_get_contents('php://input', false, null, 0, MAX_BODY_BYTES + 1);
    if (strlen($body) > MAX_BODY_BYTES) {
        return 413;
    }
    if (!is_genuine($body, $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '')) {
        return 401;
    }
    $event = json_decode($body, true);
    if (!is_array($event) || !is_string($event['id'] ?? null)) {
        return 400;
    }
    try {
        once($event);
        return 200;
    } catch (Throwable $error) {
        error_log("event {$event['id']}: {$error->getMessage()}");
        return 500;
    }
}

/** One header of the right form, with the digest of these very bytes. PHP joins several with a comma, which is no such form. */
function is_genuine(string $body, string $signature): bool
{
    return preg_match('/\Asha256=([0-9a-f]{64})\z/i', $signature, $match) === 1
        && hash_equals(hash_hmac('sha256', $body, getenv('WEBHOOK_SECRET')), strtolower($match[1]));
}

/** Does the work of an event once. A duplicate waits for the lock, which the system takes from a process that dies. */
function once(array $event): void
{
    $file = fopen(file_of($event['id']), 'c+');
    if ($file === false || !flock($file, LOCK_EX)) {
        throw new RuntimeException('its file cannot be locked');
    }
    if (stream_get_contents($file) === 'done') {
        return;
    }
    work($event);
    fwrite($file, 'done');
    fflush($file);
}

/** Put your own code here. Throw an error to have the event delivered again. */
function work(array $event): void
{
    $file = file_of($event['id']);
    if (file_exists("$file.fail")) {
        unlink("$file.fail");
        throw new RuntimeException('the probe asked for it');
    }
    file_put_contents("$file.runs", '.', FILE_APPEND);
}

/** Files older than seven days may be deleted, by a cron job. */
function file_of(string $id): string
{
    return getenv('STATE') . '/' . hash('sha256', $id);
}

function answer_probe(string $id, bool $fail): void
{
    $file = file_of($id);
    if ($fail) {
        touch("$file.fail");
    }
    header('Content-Type: application/json');
    echo json_encode(['runs' => file_exists("$file.runs") ? filesize("$file.runs") : 0]);
}
