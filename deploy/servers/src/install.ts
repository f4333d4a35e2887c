import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from './engine.ts';
import { exec, unavailable } from './exec.ts';

export interface InstallOptions {
  /** The folder of installed programs. */
  tools: string;
  signal: AbortSignal;
  say(line: string): void;
}

/** The user `nobody`, by the number that it has on every Linux; it may still pass the folders of root. */
export const asNobody =
  process.getuid?.() === 0
    ? 'setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override'
    : '';

export function isInstalled({ folder }: Engine, tools: string): boolean {
  return existsSync(join(tools, folder));
}

/**
 * Makes `$TARGET`, has `install.sh` fill it in a scratch folder, where it finds what an interrupted run has left, and renames it
 * when all is done.
 */
const whole = `
  ${unavailable}
  [ ! -e "$FOLDER" ] || exit 0
  rm -rf "$TARGET"
  mkdir -p "$TARGET" "$TMPDIR"
  cd "$TMPDIR"
  . "$SCRIPTS/install.sh"
  mv "$TARGET" "$FOLDER"
  rm -rf "$BUILDING"`;

/**
 * Installs a program where it is missing. The lock is held by the script and all that it starts, so that no second install
 * runs beside what is left of an interrupted one.
 * @throws UnavailableError saying what this machine lacks.
 */
export async function ensureInstalled(engine: Engine, { tools, signal, say }: InstallOptions): Promise<void> {
  if (isInstalled(engine, tools)) return;
  const { folder, version, patience } = engine;
  const start = performance.now();
  say(`installing version ${version}${patience ? `, ${patience}` : ''}`);
  mkdirSync(tools, { recursive: true });
  const building = join(tools, `${folder}.building`);
  const env = {
    ...process.env,
    LC_ALL: 'C.UTF-8',
    SCRIPTS: engine.scripts,
    FOLDER: join(tools, folder),
    BUILDING: building,
    TARGET: join(building, 'target'),
    TMPDIR: join(building, 'scratch'),
    AS_NOBODY: asNobody,
  };
  await exec('flock', [join(tools, `${folder}.lock`), 'sh', '-euc', whole], { env, signal });
  say(`installed version ${version} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
