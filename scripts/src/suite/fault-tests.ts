import { loggedLines } from './ava-report.ts';
import { type Step, tests } from './steps.ts';
import type { Workspace } from './workspaces.ts';

export interface FaultTestsOptions {
  root: string;
  /** Resolves when the programs of the servers have been installed, or could not be. */
  installed: Promise<unknown>;
  /** Whether every test takes the length that its fault has in life, and tells its figures. */
  full: boolean;
}

const isFaultTest = (file: string) => file.startsWith('test/faults/');
const fullTimeoutMs = 60 * 60_000;

/** The workspaces with the fault tests in one of their own, `faults`: each file starts a mesh, so that they run one by one. */
export function withFaultsApart(workspaces: Workspace[]): { others: Workspace[]; faults: Workspace | undefined } {
  const split = (each: Workspace, wanted: boolean): Workspace => ({
    ...each,
    files: each.files.filter((file) => (each.name === 'stories' && isFaultTest(file)) === wanted),
  });
  const [faults] = workspaces.map((each) => split(each, true)).filter(({ files }) => files.length > 0);
  const others = workspaces.map((each) => split(each, false)).filter(({ files }) => files.length > 0);
  return { others, faults: faults && { ...faults, name: 'faults' } };
}

/** The step that breaks meshes of processes on real engines. */
export function faultTests(workspace: Workspace, { root, installed, full }: FaultTestsOptions): Step {
  const env = async () => (full ? { PARLEY_FAULTS: 'full' } : {});
  const step = tests(root, workspace, { env, concurrency: 1, ...(full && { timeoutMs: fullTimeoutMs }) });
  return {
    name: step.name,
    async run() {
      await installed;
      const outcome = await step.run();
      return {
        ...outcome,
        engines: 'PostgreSQL, Redis, Kafka, eight processes',
        ...(full && { notes: loggedLines(outcome.output) }),
      };
    },
  };
}
