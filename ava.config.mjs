/**
 * One run of ava for the tests of all workspaces: a process for each file, one more at once than there are processors, and those
 * that took longest the last time first.
 */
import { observeRun, slowestFirst } from './scripts/src/suite/ava-run.ts';

export default {
  extensions: ['ts'],
  files: ['{gateway,services/*,deploy/*,scripts}/**/*.test.ts'],
  timeout: '120s',
  // Processes start faster than threads do here, and nothing that a test leaves behind reaches the next file.
  workerThreads: false,
  // Loads the files that share a process with the first one.
  require: ['./scripts/src/suite/testing/load-together.ts'],
  nodeArguments: [
    // PGlite is WebAssembly: V8's optimising compiler costs more than it saves in a file's life.
    '--liftoff-only',
    // ava asks for source maps, and the stack of each error then costs several times as much. Types are erased in place: nothing is mapped.
    '--import=data:text/javascript,process.setSourceMapsEnabled(false)',
  ],
  sortTestFiles: slowestFirst,
  nonSemVerExperiments: { observeRunsFromConfig: true },
  observeRun,
};
