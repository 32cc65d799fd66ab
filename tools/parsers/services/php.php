<?php
// A service behind PHP's own parser. It makes a record of a form whose file arrived without an error.
$file = $_FILES["file"] ?? null;
if (!isset($_POST["name"]) || $file === null || $file["error"] !== UPLOAD_ERR_OK) {
	http_response_code(422);
	exit("file: " . ($file === null ? "missing" : "error " . $file["error"]));
}
$record = ["parser" => "php", "name" => $_POST["name"], "filename" => $file["name"], "sum" => hash_file("sha256", $file["tmp_name"])];
file_put_contents(getenv("RECORDS"), json_encode($record) . "\n", FILE_APPEND);
http_response_code(201);
echo json_encode(["data" => ["id" => 1, "name" => $_POST["name"]]]);
