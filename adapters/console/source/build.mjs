// Builds ../built from src: `node build.mjs`. With --compare it builds elsewhere and fails where ../built differs.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = import.meta.dirname;
const built = join(here, "..", "built");
const icons = JSON.parse(readFileSync(join(here, "icons.json"), "utf8"));
const compare = process.argv.includes("--compare");
const target = compare ? mkdtempSync(join(tmpdir(), "console-")) : built;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Shapes of the listed Lucide icons as data: the policy of the page forbids markup in scripts. */
const iconShapes = {
  name: "icons",
  setup(build) {
    build.onResolve({ filter: /^icons:/ }, () => ({ path: "icons", namespace: "icons" }));
    build.onLoad({ filter: /.*/, namespace: "icons" }, () => {
      const shapes = {};
      for (const name of icons) {
        const svg = readFileSync(join(here, "node_modules/lucide-static/icons", `${name}.svg`), "utf8");
        shapes[name] = [...svg.matchAll(/<(path|circle|rect|line|polyline|polygon|ellipse)\s([^>]*?)\/>/g)].map(
          ([, tag, text]) => [
            tag,
            Object.fromEntries([...text.matchAll(/([\w-]+)="([^"]*)"/g)].map((m) => [m[1], m[2]])),
          ],
        );
      }
      return { contents: `export default ${JSON.stringify(shapes)}`, loader: "js" };
    });
  },
};

function files(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** Sentences of the API, which account pages and mails read as well. */
const shared = "../../../domain/words/de/answers.json";

/** One hash over names and contents of all sources: tests/console compares it without Node. */
function sourceHash() {
  const listed = [...files(here).filter((name) => !name.startsWith("node_modules")), shared];
  return sha256(listed.map((name) => `${sha256(readFileSync(join(here, name)))}  ${name}\n`).join(""));
}

function licences(metafile) {
  const names = new Set(["lucide-static"]);
  for (const input of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
    if (found) names.add(found[1]);
  }
  return [...names]
    .sort()
    .map((name) => {
      const folder = join(here, "node_modules", name);
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** Chunks that the entry imports at once: the page names them, so that the browser asks for all together. */
function preloaded(metafile, entry) {
  const seen = new Set();
  const visit = (name) => {
    for (const { path, kind } of metafile.outputs[name].imports)
      if (kind === "import-statement" && !seen.has(path)) {
        seen.add(path);
        visit(path);
      }
  };
  visit(entry);
  return [...seen].sort();
}

async function build() {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const { metafile } = await esbuild.build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.tsx", style: "src/styles/app.css" },
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: target,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    metafile: true,
    plugins: [iconShapes],
    logLevel: "warning",
  });
  const outputs = Object.keys(metafile.outputs);
  const base = (name) => name.slice(name.lastIndexOf("/") + 1);
  const script = outputs.find((name) => metafile.outputs[name].entryPoint === "src/main.tsx");
  const style = outputs.find((name) => name.endsWith(".css"));
  const page = readFileSync(join(here, "src/index.html"), "utf8")
    .replace("{{style}}", base(style))
    .replace("{{script}}", base(script))
    .replace(
      "{{preload}}",
      preloaded(metafile, script)
        .map((name) => `<link rel="modulepreload" href="/console/${base(name)}">`)
        .join("\n    "),
    );
  writeFileSync(join(target, "index.html"), page);
  writeFileSync(join(target, "LICENCES.txt"), licences(metafile));
  writeFileSync(join(target, "SOURCE"), `${sourceHash()}\n`);
  // Packed forms alone: the service unpacks one of them for whoever takes neither.
  for (const name of files(target).filter((name) => /\.(js|css)$/.test(name))) {
    const bytes = readFileSync(join(target, name));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(target, `${name}.br`), brotliCompressSync(bytes, { params }));
    writeFileSync(join(target, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    rmSync(join(target, name));
  }
  const sums = files(target).map((name) => `${sha256(readFileSync(join(target, name)))}  ${name}\n`);
  writeFileSync(join(target, "SHA256SUMS"), sums.join(""));
}

/** Compressed files are compared by what they hold: another release of zlib packs them differently. */
function differences() {
  const plain = { br: brotliDecompressSync, gz: gunzipSync };
  const content = (folder, name) => {
    const bytes = readFileSync(join(folder, name));
    const unpack = plain[name.slice(-2)];
    return sha256(unpack ? unpack(bytes) : bytes);
  };
  const all = new Set([...files(target), ...files(built)].filter((name) => name !== "SHA256SUMS"));
  return [...all].filter(
    (name) =>
      !existsSync(join(target, name)) ||
      !existsSync(join(built, name)) ||
      content(target, name) !== content(built, name),
  );
}

await build();
if (compare) {
  const different = differences();
  rmSync(target, { recursive: true });
  if (different.length) {
    console.error(`built/ is not what the sources make: ${different.join(", ")}. Run make console.`);
    process.exit(1);
  }
}
