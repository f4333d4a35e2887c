import { jobRunner } from './job-runner.ts';
import type { JobRunner, JobRunnerOptions, RunnerOptions } from './runner-types.ts';

/** The runner options that the service provides. */
type ServiceOptions = 'database' | 'soleOwner' | 'notifier' | 'onFailure' | 'log';

/** How a service runs its jobs of one kind; `service` creates the runner. */
export interface JobDeclaration {
  kind: string;
  /** The name and help text of the gauge for the number of jobs that this process runs. Default: no gauge. */
  gauge?: { name: string; help: string } | undefined;
  runner(serviceOptions: Pick<RunnerOptions, ServiceOptions>): JobRunner;
}

/** Declares one kind of job. */
export function job<Data, Prepared = undefined, Fetched = undefined>({
  gauge,
  ...options
}: Omit<JobRunnerOptions<Data, Prepared, Fetched>, ServiceOptions> & Pick<JobDeclaration, 'gauge'>): JobDeclaration {
  return { kind: options.kind, gauge, runner: (serviceOptions) => jobRunner({ ...options, ...serviceOptions }) };
}
