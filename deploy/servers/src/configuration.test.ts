import { createHash } from 'node:crypto';
import test from 'ava';
import type { Engine, Place } from './engine.ts';
import { engines, settingsOf } from './fleet.ts';
import { classPath, serverProperties } from './kafka.ts';
import { readMetadata } from './kafka-metadata.ts';
import { librariesIn, redisConfig } from './redis.ts';
import { exportLines, statusTable } from './report.ts';

const place: Place = {
  home: '/data/it is',
  installed: '/tools/it',
  ports: { main: 4001, controller: 4002 },
  secrets: { password: 'secret', accessKeyId: 'AK', secretAccessKey: 'SK', clusterId: 'cluster' },
  account: undefined,
};

const [postgres, redis] = engines;

test('every engine listens on the loopback address only', (t) => {
  for (const line of redisConfig(place)
    .split('\n')
    .filter((each) => each.startsWith('bind')))
    t.is(line, 'bind 127.0.0.1');
  for (const [address] of serverProperties(place, '/data').matchAll(/\w+:\/\/[^,\n]+/g)) {
    t.regex(address, /^(PLAINTEXT|CONTROLLER):\/\/127\.0\.0\.1:400[12]$/);
  }
  const flags = ['postgres', 's3'].map((name) =>
    engines
      .find((each) => each.name === name)
      ?.command(place)
      .args.join(' '),
  );
  t.regex(flags[0] ?? '', /listen_addresses=127\.0\.0\.1 .*unix_socket_directories= /);
  t.regex(flags[1] ?? '', /--port 127\.0\.0\.1:4001 /);
});

test('Redis knows the hash of the password alone, and one login that is kept to its prefix', (t) => {
  const config = redisConfig(place);
  const hash = createHash('sha256').update('secret').digest('hex');
  t.false(config.includes('secret'));
  t.true(config.includes('user default off ~* &* +@all\n'));
  t.true(config.includes(`user parley on #${hash} ~parley:* &parley:* +@all -@admin -@dangerous +info\n`));
  t.true(config.includes('dir "/data/it is/data"\n'));
});

test('no password stands on a command line, where every user of the machine could read it', (t) => {
  for (const engine of engines) {
    if (engine.name === 'kafka') continue; // reads its install, and knows no password
    t.notRegex(engine.command(place).args.join(' '), /secret|SK/);
  }
});

test('jars stand on the class path in the order of their bytes, whatever else lies there', (t) => {
  const files = ['b-1.jar', 'B-2.jar', 'a_1.jar', 'a-1.jar', '.installed', 'ä.jar'];
  t.is(classPath('/k', files), '/k/B-2.jar:/k/a-1.jar:/k/a_1.jar:/k/b-1.jar:/k/ä.jar');
});

test('one Kafka node needs one replica of everything', (t) => {
  const lines = serverProperties(place, '/data/kafka').split('\n');
  const counts = lines.filter((line) => /replication\.factor|min\.isr|insync/.test(line));
  t.true(counts.length >= 6);
  for (const line of counts) t.regex(line, /=1$/);
  t.true(lines.includes('log.dirs=/data/kafka'));
  t.true(lines.includes('auto.create.topics.enable=false'));
});

test("a broker's answer tells its cluster and how many brokers have joined", (t) => {
  const string = (text: string) => [0, text.length, ...Buffer.from(text)];
  const broker = [0, 0, 0, 1, ...string('127.0.0.1'), 0, 0, 15, 161, 0xff, 0xff];
  const answer = (brokers: number[][]) =>
    Buffer.from([0, 0, 0, 1, 0, 0, 0, brokers.length, ...brokers.flat(), ...string('abc'), 0, 0, 0, 1]);
  t.deepEqual(readMetadata(answer([broker])), { clusterId: 'abc', brokers: 1 });
  t.deepEqual(readMetadata(answer([])), { clusterId: 'abc', brokers: 0 });
});

test('of what a package depends on, the libraries are taken but for the C library', (t) => {
  const depends = `redis-server
  PreDepends: init-system-helpers
  Depends: lsb-base
  Depends: redis-tools
redis-tools
  Depends: libc6
  Depends: libjemalloc2
 |Depends: libsystemd0
    libelogind0
  Depends: liblzf1
  Suggests: libruby
`;
  t.deepEqual(librariesIn(depends), ['libjemalloc2', 'liblzf1']);
});

test('passwords need no quoting anywhere, and no two are the same', (t) => {
  for (const engine of engines) {
    const secrets = [engine.makeSecrets(), engine.makeSecrets()].flatMap((each) => Object.values(each));
    t.is(new Set(secrets).size, secrets.length);
    for (const secret of secrets) t.regex(secret, /^\w[\w-]{19,}$/);
  }
});

test('an engine sets all that clients read of it, and nothing else', (t) => {
  for (const engine of engines) {
    const names = Object.keys(engine.settings(place));
    t.true(names.includes(engine.setting));
    t.true(names.every((name) => engine.settingNames.includes(name)));
  }
});

test('settings come from servers of ours that are up, and from the environment for those that it names', (t) => {
  const [first, second] = [postgres, redis] as [Engine, Engine];
  const env = { DATABASE_URL: 'postgres://elsewhere/db', REDIS_URL: 'unused' };
  const settings = settingsOf(
    [
      { engine: first, state: 'configured' },
      { engine: second, state: 'up', place, pid: 1 },
    ],
    env,
  );
  t.deepEqual(settings, {
    DATABASE_URL: 'postgres://elsewhere/db',
    REDIS_URL: 'redis://parley:secret@127.0.0.1:4001',
  });
  t.deepEqual(settingsOf([{ engine: second, state: 'down', place, installed: true }], env), {});
});

test('a shell that evaluates the settings gets them unchanged', (t) => {
  t.is(
    exportLines({ A: 'redis://u:p@h:1/x', B: "it's $HOME" }),
    "export A=redis://u:p@h:1/x\nexport B='it'\\''s $HOME'\n",
  );
});

test('the table tells the state of each engine in words', (t) => {
  const engine = postgres as Engine;
  const lines = statusTable([
    { engine, state: 'up', place, pid: 77 },
    { engine, state: 'silent', place, pid: 78 },
    { engine, state: 'down', place: undefined, installed: false },
    { engine, state: 'down', place, installed: true },
    { engine, state: 'configured' },
  ]).split('\n');
  t.regex(lines[0] ?? '', /^engine +version +port +pid +state +data$/);
  t.regex(lines[1] ?? '', /^PostgreSQL +18\.4 +4001 +77 +up +\/data\/it is$/);
  t.regex(lines[2] ?? '', /78 +runs, does not answer/);
  t.regex(lines[3] ?? '', /not installed +-$/);
  t.regex(lines[4] ?? '', / down +\/data/);
  t.regex(lines[5] ?? '', /DATABASE_URL is set/);
});
