// Builds the console into ../built and the account pages into ../../http/assets/account: `node build.mjs`. With --compare
// it builds elsewhere and fails where a file differs.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = import.meta.dirname;
const icons = JSON.parse(readFileSync(join(here, "icons.json"), "utf8"));
const compare = process.argv.includes("--compare");

/** Where each part is committed, and where it is built. */
const BUILT = { console: join(here, "../built"), account: join(here, "../../http/assets/account") };
const targets = compare ? temporary() : BUILT;

function temporary() {
  const folder = mkdtempSync(join(tmpdir(), "console-"));
  return { console: join(folder, "console"), account: join(folder, "account") };
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Shapes of the listed Lucide icons as data: the policy of the page forbids markup in scripts. */
const iconShapes = (names) => ({
  name: "icons",
  setup(build) {
    build.onResolve({ filter: /^icons:/ }, () => ({ path: "icons", namespace: "icons" }));
    build.onLoad({ filter: /.*/, namespace: "icons" }, () => {
      const shapes = {};
      for (const name of names) {
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
});

/** In the order of src/words/en/index.ts. */
const TEXTS = [
  "../../../domain/words/{}/common.json",
  "src/words/{}/rows.json",
  "src/words/{}/administration.json",
  "src/words/{}/events.json",
  "src/words/{}/live.json",
  "src/words/{}/webhooks.json",
];

/** `words:de`: the texts of a language in the order of the English ones, whose keys the console has already. */
const wordTexts = {
  name: "words",
  setup(build) {
    const read = (code, part) => JSON.parse(readFileSync(join(here, part.replace("{}", code)), "utf8"));
    build.onResolve({ filter: /^words:/ }, ({ path }) => ({ path: path.slice(6), namespace: "words" }));
    build.onLoad({ filter: /.*/, namespace: "words" }, ({ path: code }) => {
      const texts = TEXTS.flatMap((part) => {
        const translated = read(code, part);
        return Object.keys(read("en", part)).map((key) => translated[key]);
      });
      return { contents: `export default ${JSON.stringify(texts)}`, loader: "js" };
    });
  },
};

function files(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** Texts that the service reads as well. */
const shared = ["answers", "common", "console-answers", "pages"].flatMap((name) =>
  ["de", "en"].map((language) => `../../../domain/words/${language}/${name}.json`),
);

/** One hash over names and contents of all sources: tests/console compares it without Node. */
function sourceHash() {
  const listed = [...files(here).filter((name) => !name.startsWith("node_modules")), ...shared];
  return sha256(listed.map((name) => `${sha256(readFileSync(join(here, name)))}  ${name}\n`).join(""));
}

function licences(inputs) {
  const names = new Set(["lucide-static"]);
  for (const input of inputs) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
    if (found) names.add(found[1]);
  }
  const texts = [...names].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  texts.push(`Inter, a subset\n\n${readFileSync(join(here, "src/fonts/OFL.txt"), "utf8").trim()}\n`);
  return texts.join(`\n${"-".repeat(80)}\n\n`);
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

/** Bundles entries into an empty folder; `icons` names those that they draw. */
async function bundle(outdir, entryPoints, icons) {
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  const { metafile } = await esbuild.build({
    absWorkingDir: here,
    entryPoints,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".woff2": "file" },
    metafile: true,
    plugins: [iconShapes(icons), wordTexts],
    logLevel: "warning",
  });
  return metafile;
}

/** The page of an entry, which names its scripts and its style by addresses that begin with `below`. */
function page(metafile, template, below, entry) {
  const outputs = Object.keys(metafile.outputs);
  const base = (name) => name.slice(name.lastIndexOf("/") + 1);
  const script = outputs.find((name) => entry && metafile.outputs[name].entryPoint === entry);
  const chunks = script ? preloaded(metafile, script) : [];
  const preloads = chunks.map((name) => `<link rel="modulepreload" href="${below}${base(name)}">`);
  return readFileSync(join(here, template), "utf8")
    .replace("{{style}}", base(outputs.find((name) => name.endsWith(".css"))))
    .replace("{{script}}", script ? base(script) : "")
    .replace("{{preload}}", preloads.join("\n    "))
    .replace("{{font}}", base(outputs.find((name) => /inter-\w+\.woff2$/.test(name))));
}

/** Packed forms alone: the service unpacks one of them for whoever takes neither. */
function pack(folder, hasBrotli) {
  for (const name of files(folder).filter((name) => /\.(js|css)$/.test(name))) {
    const bytes = readFileSync(join(folder, name));
    if (hasBrotli) {
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
      writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
    }
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    rmSync(join(folder, name));
  }
  const sums = files(folder).map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
}

async function buildConsole() {
  const entries = { app: "src/main.tsx", style: "src/styles/app.css" };
  const metafile = await bundle(targets.console, entries, icons.console);
  const index = page(metafile, "src/index.html", "/console/", "src/main.tsx");
  writeFileSync(join(targets.console, "index.html"), index);
  return metafile;
}

async function buildAccount() {
  const languages = files(join(here, "src/account")).filter((name) => /^[a-z]{2}\.ts$/.test(name));
  const scripts = languages.map((name) => [name.slice(0, 2), `src/account/${name}`]);
  const entries = { ...Object.fromEntries(scripts), style: "src/styles/account.css" };
  const metafile = await bundle(targets.account, entries, icons.account);
  const below = "$assets/";
  for (const [language, script] of scripts) {
    const made = page(metafile, "src/account/page.html", below, script);
    writeFileSync(join(targets.account, `${language}.html`), made);
  }
  writeFileSync(join(targets.account, "refused.html"), page(metafile, "src/account/refused.html", below));
  return metafile;
}

async function build() {
  const metafiles = [await buildConsole(), await buildAccount()];
  const inputs = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  writeFileSync(join(targets.console, "LICENCES.txt"), licences(inputs));
  writeFileSync(join(targets.console, "SOURCE"), `${sourceHash()}\n`);
  pack(targets.console, true);
  // small enough without
  pack(targets.account, false);
}

/** Compressed files are compared by what they hold: another release of zlib packs them differently. */
function differences(target, built) {
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
  const different = Object.keys(BUILT).flatMap((part) => differences(targets[part], BUILT[part]));
  rmSync(join(targets.console, ".."), { recursive: true });
  if (different.length) {
    console.error(`These are not what the sources make: ${different.join(", ")}. Run make console.`);
    process.exit(1);
  }
}
