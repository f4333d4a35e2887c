import { type JobRunnerOptions, jobRunner } from './job-runner.ts';
import type { JobRunner, RunnerOptions } from './runner-types.ts';

/** What a runner is given by whoever builds the service. */
type Given = 'database' | 'soleOwner' | 'notifier' | 'log';

/** How a service does its jobs of one kind; `service` makes the runner of it. */
export interface JobDeclaration {
  kind: string;
  /** The gauge of how many jobs this process runs, where there is one. */
  gauge?: { name: string; help: string } | undefined;
  runner(given: Pick<RunnerOptions, Given>): JobRunner;
}

/** Declares the jobs of one kind, which belong to tenants. */
export function job<Data, Prepared = undefined, Asked = undefined>({
  gauge,
  ...options
}: Omit<JobRunnerOptions<Data, Prepared, Asked>, Given> & Pick<JobDeclaration, 'gauge'>): JobDeclaration {
  return { kind: options.kind, gauge, runner: (given) => jobRunner({ ...options, ...given }) };
}
