import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { compareProtos } from './compare-protos.ts';

const first = `syntax = "proto3";
package parley.pets.v1;
service PetService {
  rpc GetPet(GetPetRequest) returns (GetPetResponse);
  rpc FeedPet(GetPetRequest) returns (GetPetResponse);
}
message GetPetRequest { int32 id = 1; }
message GetPetResponse { string name = 1; }
message PetFed { int32 id = 1; }
`;
const withField = first.replace('string name = 1;', 'string name = 1; string species = 2;');

/** Creates a checkout with one proto and this checkout's rules, and tags it as the first release. */
function releaseOf(t: ExecutionContext, proto = first) {
  const checkout = checkoutOf(t, proto);
  checkout.git('tag', 'v0.1.0');
  return checkout;
}

/** Creates the same checkout as `releaseOf`, but without a release. */
function checkoutOf(t: ExecutionContext, proto = first) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-breaking-')));
  t.teardown(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'protos'));
  cpSync(join(root, 'protos/buf.yaml'), join(folder, 'protos/buf.yaml'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: folder, stdio: 'pipe' });
  const write = (text: string) => writeFileSync(join(folder, 'protos/pets.proto'), text);
  const commit = (text: string) => {
    write(text);
    git('add', '.');
    git('commit', '--quiet', '--allow-empty', '-m', 'a change');
  };
  const compare = () => compareProtos({ checkout: folder });
  git('init', '--quiet', '--initial-branch=main');
  commit(proto);
  return { folder, git, write, commit, compare };
}

test('the first protos are not compared, and the message gives the reason', (t) => {
  const { compare } = checkoutOf(t);

  t.is(compare(), 'left out: these are the first');
});

test('before the first commit there is nothing to compare with', (t) => {
  const { git, compare } = checkoutOf(t);
  git('update-ref', '-d', 'HEAD');

  t.is(compare(), 'left out: nothing has been committed yet');
});

test('before the first release a proto may be changed incompatibly, and the message gives the reason', (t) => {
  const { commit, git, compare } = checkoutOf(t, withField);
  commit(first);
  t.is(compare(), 'no release yet (no tag v*), so there is nothing to hold');

  git('tag', 'v0.1.0');
  t.is(compare(), 'nothing breaks what ran at v0.1.0', 'the cut is part of the release');
});

test('protos are compared with the newest release, however old, and not with earlier versions', (t) => {
  const { commit, git, compare } = releaseOf(t, first.replace('PetFed', 'PetGone'));
  commit(first);
  git('tag', 'v0.2.0');
  git('tag', 'verified');
  commit(withField);
  commit(`${withField}message Later { int32 id = 1; }\n`);
  t.regex(compare(), /^nothing breaks what ran at v0\.2\.0 and [0-9a-f]{40}$/u);

  commit(`${first.replace(/message PetFed.*\n/u, '')}message Later { int32 id = 1; }\n`);
  t.throws(compare, { message: /^compared with v0\.2\.0:.*\n?.*PetFed/u });
});

test('uncommitted changes are compared with the last commit', (t) => {
  const { write, commit, compare } = releaseOf(t);
  commit(`${first}message Later { int32 id = 1; }\n`);
  write(first);
  t.throws(compare, { message: /^compared with HEAD:.*\n?.*Later/u });
});

test('uncommitted changes are compared with a release of the last commit', (t) => {
  const { write, compare } = releaseOf(t);
  write(withField);
  t.regex(compare(), /^nothing breaks/u);

  write(first.replace('string name = 1;', 'int32 name = 1;'));
  t.throws(compare, { message: /pets\.proto:\d+.*"GetPetResponse" changed type/u });
});

test('committed protos are compared with the state before their last change, despite later commits', (t) => {
  const { folder, commit, git, compare } = releaseOf(t);
  commit(withField);
  commit(first);
  writeFileSync(join(folder, 'README.md'), 'later');
  git('add', '.');
  git('commit', '--quiet', '-m', 'something else');

  t.throws(compare, { message: /"2".*GetPetResponse/u });
});

test('a branch is compared with the commit at which it left main', (t) => {
  const { commit, git, compare } = releaseOf(t);
  commit(withField);
  git('checkout', '--quiet', '-b', 'feature');
  commit(first);
  commit(`${first}message Later { int32 id = 1; }\n`);

  t.throws(compare, { message: /^compared with / });
});

for (const [what, changed] of [
  ['an RPC', first.replace(/ {2}rpc FeedPet.*\n/u, '')],
  ["an event's payload", first.replace(/message PetFed.*\n/u, '')],
  ['a service', first.replace(/service[^}]*\}\n/u, '')],
  ['a field', first.replace('string name = 1;', 'reserved 1; reserved "name";')],
] as const) {
  test(`the removal of ${what} is found`, (t) => {
    const { write, compare } = releaseOf(t);
    write(changed);

    t.throws(compare, { message: /^compared with / });
  });
}

test('a folder without history is distinguished from one that passes', (t) => {
  const { folder, compare } = checkoutOf(t);
  rmSync(join(folder, '.git'), { recursive: true });

  t.regex(compare(), /^left out: .*no git checkout/u);
  writeFileSync(join(folder, '.git'), 'what git refuses to read');
  t.throws(() => compareProtos({ checkout: folder, mustCompare: true }), { message: /no git checkout/u });
});

test("another user's checkout, which git refuses to read, is an error with git's remedy", (t) => {
  const { compare } = checkoutOf(t);
  const before = { ...process.env };
  // Simulates a machine without a safe.directory setting. The environment is restored before any other test of this file runs.
  const env = { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  Object.assign(process.env, env);
  try {
    t.throws(compare, { message: /dubious ownership[^]*git config --global --add safe\.directory/u });
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  }
});

test('a history that git cannot read is an error with its reason', (t) => {
  const { folder, git, compare } = checkoutOf(t);
  const head = String(git('rev-parse', 'HEAD')).trim();
  writeFileSync(join(folder, '.git/index'), 'damaged');
  t.throws(compare, { message: /^git status: .*index file/u });

  rmSync(join(folder, '.git/objects', head.slice(0, 2), head.slice(2)));
  t.throws(compare, { message: /^git log: .*bad object HEAD/u });
});

for (const [what, depth] of [
  ['without the state before', 1],
  ['whose releases may be further back', 2],
] as const) {
  test(`the message for a shallow clone ${what} tells how to fetch the history`, (t) => {
    const { folder, commit } = releaseOf(t);
    commit(withField);
    commit(`${withField}message Later { int32 id = 1; }\n`);
    const shallow = `${folder}-shallow`;
    t.teardown(() => rmSync(shallow, { recursive: true }));
    const clone = ['clone', '--quiet', `--depth=${depth}`, pathToFileURL(folder).href, shallow];
    execFileSync('git', clone, { stdio: 'pipe' });

    t.regex(compareProtos({ checkout: shallow }), /^left out: .*--unshallow/u);
    t.throws(() => compareProtos({ checkout: shallow, mustCompare: true }), { message: /--unshallow/u });
  });
}

test('any commit can be named, and an unknown one is an error with its name', (t) => {
  const { folder, commit } = checkoutOf(t, withField);
  commit(first);
  commit(`${first}message Later { int32 id = 1; }\n`);

  t.regex(compareProtos({ checkout: folder, against: 'HEAD' }), /^nothing breaks/u);
  t.throws(() => compareProtos({ checkout: folder, against: 'HEAD~2' }), { message: /^compared with HEAD~2:/u });
  const message = /^v0 cannot be read: .*not a valid object name/u;
  t.throws(() => compareProtos({ checkout: folder, against: 'v0' }), { message });
});
