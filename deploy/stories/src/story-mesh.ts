import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '@parley/servers/ports';
import { root } from '@parley/servers/root';

/** `scripts/up --mesh`, as stories want it. */
export interface StoryMesh {
  /** A JSON file with the settings that it was started with. */
  settingsFile: string;
  /** Resolves when all of it is gone. @returns what it did that no mesh should: processes that ended by themselves, a bad end. */
  stop(): Promise<string[]>;
  /** The last that its processes complained of. */
  complaints(): string;
}

export interface StoryMeshOptions {
  /** Empty, and its own. */
  folder: string;
  /** Its engines, its keys, and whatever else it is to be configured with. */
  settings: Record<string, string>;
  /** Cuts a start short. */
  signal: AbortSignal;
}

const startTimeoutMs = 180_000;
const shownLines = 40;

/**
 * Starts it, and resolves when it is up. It ends with this process, however that ends.
 * @throws Error with what it said where it does not come up; then nothing of it is left.
 */
export async function startStoryMesh({ folder, settings, signal }: StoryMeshOptions): Promise<StoryMesh> {
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const given = { ...settings, PARLEY_DATA_DIR: data };
  const settingsFile = join(folder, 'settings.json');
  writeFileSync(settingsFile, JSON.stringify(given), { mode: 0o600 });

  const { PATH, HOME, TMPDIR } = process.env;
  const endWithParent = join(root, 'deploy/mesh/src/end-with-parent.ts');
  const child = spawn(process.execPath, ['--import', endWithParent, join(root, 'scripts/src/up.ts'), '--mesh'], {
    cwd: root,
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...given },
    detached: true, // Ctrl-C is for whoever started this to act on
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      child.emit('said');
    });
  }
  const ended = once(child, 'close').then(([code, by]: unknown[]) => by ?? code);

  let asked = false;
  async function stop(): Promise<string[]> {
    if (!asked) child.kill('SIGTERM'); // a second one would kill what is still at its work
    asked = true;
    const how = await ended;
    const fell = said.split('\n').filter((line) => / has ended /u.test(line));
    return how === 0 ? fell : [...fell, `scripts/up --mesh ended with ${String(how)}: ${said}`];
  }

  try {
    await untilUp(child, ended, () => said.includes('Stop with Ctrl-C'), signal);
  } catch (error) {
    await stop();
    throw new Error(`scripts/up --mesh did not come up: ${said.trim()}`, { cause: error });
  }
  return {
    settingsFile,
    stop,
    complaints() {
      const lines = readFileSync(join(data, 'mesh/logs/all.log'), 'utf8').trimEnd().split('\n');
      const complaints = lines.filter((line) => !line.includes('"level":"info"'));
      return complaints.slice(-shownLines).join('\n');
    },
  };
}

async function untilUp(child: ChildProcess, ended: Promise<unknown>, isUp: () => boolean, signal: AbortSignal) {
  const either = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]);
  let over = false;
  const end = ended.finally(() => {
    over = true;
  });
  while (!isUp()) {
    if (over) throw new Error('It has ended');
    await Promise.race([once(child, 'said', { signal: either }), end]);
  }
}

/** Any free port; keys that the stories know; and clients that come through a proxy, so that each has an address of its own. */
export function storySettings(): Record<string, string> {
  const key = () => randomBytes(32).toString('base64');
  return {
    GATEWAY_PORT: '0',
    LOG_LEVEL: 'warn',
    TRUSTED_PROXIES: '127.0.0.1/32',
    MESH_KEY: key(),
    OPERATOR_KEY: key(),
    SECRETS_KEYS: `k1:${key()}`,
    AVATAR_TOKEN_KEYS: `k1:${key()}`,
  };
}

/** Where the mesh asks the model that stories script. Nobody is there yet. */
export async function scriptedModelSettings(): Promise<Record<string, string>> {
  const [port] = await freePorts(1);
  return {
    HOSTED_SMALL_MODEL_URL: `http://127.0.0.1:${port}/v1`,
    HOSTED_SMALL_MODEL_MODEL: 'test-model',
    HOSTED_SMALL_MODEL_KEY: 'test-key',
  };
}

/** Where it asks the model, and where it sends all that it can say of itself. Nobody is there yet. */
export async function observedSettings(): Promise<Record<string, string>> {
  const [port] = await freePorts(1);
  return {
    ...(await scriptedModelSettings()),
    HOSTED_SMALL_MODEL_KEY: 'canary-model-key',
    LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_BSP_SCHEDULE_DELAY: '20',
  };
}
