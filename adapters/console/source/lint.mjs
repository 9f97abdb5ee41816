// Runs Biome: its programs for Linux are dependencies by themselves, since not every registry has those for all systems.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const program = join(import.meta.dirname, "node_modules/@biomejs", `cli-linux-${process.arch}`, "biome");
if (process.platform === "linux" && existsSync(program)) {
  const { status } = spawnSync(program, [...process.argv.slice(2), "."], {
    stdio: "inherit",
    cwd: import.meta.dirname,
  });
  process.exit(status ?? 1);
}
console.log("Biome is not installed for this system: nothing is linted.");
