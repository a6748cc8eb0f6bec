// Uploads a file with tus-js-client as it is, with the options that docs/media.md names.
// Reads {modules, file, endpoint, key, chunkSize} from standard input and prints {url, retries}.
const { readFileSync, createReadStream, statSync } = require("node:fs");
const { join } = require("node:path");

const { modules, file, endpoint, key, chunkSize } = JSON.parse(readFileSync(0, "utf8"));
const tus = require(join(modules, "node_modules", "tus-js-client"));

let retries = 0;
const upload = new tus.Upload(createReadStream(file), {
  endpoint,
  chunkSize,
  uploadSize: statSync(file).size,
  headers: { Authorization: `Bearer ${key}` },
  metadata: { filename: "film.bin", filetype: "video/mp4" },
  retryDelays: [0, 50, 100, 200, 500, 1000, 1000, 1000, 2000, 2000, 5000, 5000],
  onShouldRetry(error) {
    retries++;
    const status = error.originalResponse ? error.originalResponse.getStatus() : 0;
    return status === 0 || status >= 500 || status === 409 || status === 429;
  },
  onError(error) {
    console.error(String(error));
    process.exitCode = 1;
  },
  onSuccess() {
    console.log(JSON.stringify({ url: upload.url, retries }));
  },
});
upload.start();
