"use strict";
// A service behind parsers of Node: /busboy, /multer, /formidable, and /undici, the parser of fetch that is part of Node.
// It makes a record of a form that its parser took without an error. It ends when its standard input does.
const crypto = require("crypto");
const fs = require("fs");
const http = require("http");

const parsers = {};
const missing = {};

function load(name, make) {
	try {
		parsers[name] = make();
	} catch (failed) {
		missing[name] = failed.code || String(failed);
	}
}

const sum = data => crypto.createHash("sha256").update(data).digest("hex");

load("busboy", () => {
	const busboy = require("busboy");
	return req => new Promise((resolve, reject) => {
		const form = busboy({headers: req.headers, defParamCharset: "utf8"});
		const record = {};
		form.on("field", (key, value) => {
			if (key === "name") {
				record.name = value;
			}
		});
		form.on("file", (key, stream, info) => {
			const hash = crypto.createHash("sha256");
			stream.on("data", data => hash.update(data));
			stream.on("error", reject);
			stream.on("end", () => Object.assign(record, {filename: info.filename, sum: hash.digest("hex")}));
		});
		form.on("close", () => resolve(record));
		form.on("error", reject);
		req.on("aborted", () => reject(new Error("aborted")));
		req.pipe(form);
	});
});

load("multer", () => {
	const multer = require("multer");
	const upload = multer({storage: multer.memoryStorage(), defParamCharset: "utf8"}).single("file");
	return (req, res) => new Promise((resolve, reject) => upload(req, res, failed => {
		if (failed || !req.file) {
			reject(failed || new Error("no file"));
			return;
		}
		resolve({name: req.body.name, filename: req.file.originalname, sum: sum(req.file.buffer)});
	}));
});

load("formidable", () => {
	const {formidable} = require("formidable");
	return async req => {
		const [fields, files] = await formidable({}).parse(req);
		const file = files.file[0];
		const data = fs.readFileSync(file.filepath);
		fs.unlinkSync(file.filepath);
		return {name: fields.name[0], filename: file.originalFilename, sum: sum(data)};
	};
});

load("undici", () => async req => {
	const chunks = [];
	for await (const chunk of req) {
		chunks.push(chunk);
	}
	const form = await new Response(Buffer.concat(chunks), {headers: {"Content-Type": req.headers["content-type"]}}).formData();
	const file = form.get("file");
	return {name: form.get("name"), filename: file.name, sum: sum(Buffer.from(await file.arrayBuffer()))};
});

async function handle(req, res) {
	const parser = req.url.split("/")[1];
	try {
		const record = await parsers[parser](req, res);
		if (!record.name || !record.sum) {
			throw new Error("incomplete");
		}
		fs.appendFileSync(process.env.RECORDS, JSON.stringify({parser, ...record}) + "\n");
		res.writeHead(201, {Connection: "close"}).end(JSON.stringify({data: {id: 1, name: record.name}}));
	} catch (failed) {
		res.writeHead(422, {Connection: "close"}).end(String(failed));
	}
}

// What a parser does after its connection broke is waited for with GET /idle.
const active = new Set();
const server = http.createServer(async (req, res) => {
	if (req.url === "/idle") {
		await Promise.all(active);
		res.writeHead(204, {Connection: "close"}).end();
		return;
	}
	const handled = handle(req, res);
	active.add(handled);
	await handled;
	active.delete(handled);
});
process.on("uncaughtException", failed => console.error(String(failed)));
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({port: server.address().port, missing})));
process.stdin.on("end", () => process.exit()).resume();
