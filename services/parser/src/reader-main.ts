import { performTasks } from '@parley/kernel/processes/perform-tasks';
import { FileProblem } from './file-problem.ts';
import { closeNetwork } from './no-network.ts';
import { readFile } from './read-file.ts';
import type { ReaderAnswer, ReaderTask } from './reader-process.ts';

closeNetwork();

performTasks(async ({ file, limits }: ReaderTask): Promise<ReaderAnswer> => {
  try {
    return await readFile(file, limits);
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    const { problem, found, cause } = error;
    // The error's message may quote the file.
    return { problem, found, errorName: cause instanceof Error ? cause.name : undefined };
  }
});
