import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Counts, countTests, withoutPassed } from './ava-report.ts';
import { run } from './command.ts';
import { findContractCheck, operations } from './contract.ts';
import type { Workspace } from './workspaces.ts';

export interface Outcome extends Counts {
  /** What a developer needs to see when something failed. */
  output: string;
  /** What failed at first and passed when it was run again. */
  unsteady?: string;
  /** On which engines it ran, where there is a choice. */
  engines?: string;
  /** What was left out, and why. */
  notes?: string[];
}

/** A machine that builds has neighbours: a failure there counts when it comes twice, and is told when it came once. */
export function twice(step: Step): Step {
  return {
    name: step.name,
    async run() {
      const first = await step.run();
      if (first.failed === 0) return first;
      const second = await step.run();
      return second.failed === 0 ? { ...second, unsteady: first.output } : second;
    },
  };
}

export interface Step {
  name: string;
  run(): Promise<Outcome>;
}

/** Two steps run beside each other, each with its share of the processors. */
export const lanes = 2;

/** How a check begins that had nothing to look at, before it says why. */
export const leftOut = 'left out: ';

const checkTimeoutMs = 180_000;
const workspaceTimeoutMs = 900_000;

/** The checks of the whole checkout: each counts as one. */
export function checks(root: string, env: NodeJS.ProcessEnv): Step[] {
  const script = (name: string, ...args: string[]) => ['node', `scripts/src/${name}.ts`, ...args];
  const contract = findContractCheck(root, env);
  const commands: Record<string, string[]> = {
    lockfile: script('lock', '--check'),
    generated: script('generate', '--check'),
    breaking: script('breaking'),
    supergraph: script('compose', '--check'),
    ...(contract && {
      contract: ['node', contract, 'gateway/supergraph.graphql', '--need', operations.join(',')],
    }),
    typecheck: ['tsc', '--noEmit'],
    lint: ['oxlint', '--type-aware', '--deny-warnings'],
    format: ['biome', 'ci', '--colors=off', '.'],
    imports: script('imports'),
  };
  return Object.entries(commands).map(([name, [command = '', ...args]]) => ({
    name,
    async run() {
      const { ok, output } = await run({ command, args, cwd: root, timeoutMs: checkTimeoutMs });
      if (ok && output.startsWith(leftOut)) return { passed: 0, failed: 0, skipped: 1, output };
      return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, output };
    },
  }));
}

export interface TestsOptions {
  /** Waited for; tells them where real engines are. */
  env?: () => Promise<Record<string, string>>;
  /** How many files at the same time. Default: this lane's share of the processors. */
  concurrency?: number;
  /** What all of them together may take. Default 900,000. */
  timeoutMs?: number;
}

/** The tests of one workspace. */
export function tests(
  root: string,
  { name, folder, files }: Workspace,
  {
    env = async () => ({}),
    concurrency = Math.max(1, Math.floor(availableParallelism() / lanes)),
    timeoutMs = workspaceTimeoutMs,
  }: TestsOptions = {},
): Step {
  return {
    name,
    async run() {
      const settings = await env();
      const args = [`--concurrency=${concurrency}`, ...files];
      const ended = await run({
        command: 'ava',
        args,
        cwd: join(root, folder),
        env: settings,
        timeoutMs,
      });
      const counts = countTests(ended.stdout);
      // A crash, a timeout or an empty report is a failure too, though no test says so.
      const failed = ended.ok && counts.passed > 0 ? counts.failed : Math.max(1, counts.failed);
      const engines = enginesOf(folder, settings);
      return { ...counts, failed, output: withoutPassed(ended.output), ...(engines && { engines }) };
    },
  };
}

const engineNames: Record<string, string> = {
  TEST_POSTGRES_URL: 'PostgreSQL',
  TEST_DATABASE_URL: 'PostgreSQL',
  TEST_REDIS_URL: 'Redis',
  TEST_KAFKA_BROKERS: 'Kafka',
  TEST_S3_ENDPOINT: 'S3',
};

/** On which engines the tests of a folder run with these settings; undefined where they use none. */
export function enginesOf(folder: string, settings: Record<string, string>): string | undefined {
  const real = Object.entries(engineNames).flatMap(([setting, name]) => (settings[setting] ? [name] : []));
  if (folder === 'deploy/stories') return 'small engines, one process';
  const small = folder.startsWith('services/') ? ['small engines'] : [];
  return [...small, ...new Set(real)].join(', ') || undefined;
}
