/**
 * Runs the tests of all workspaces in one run of ava. Each test file runs in its own process. The number of concurrent processes is the
 * number of processors plus one. The files that took longest in the previous run start first.
 */
import { observeRun, slowestFirst } from './scripts/src/suite/ava-run.ts';

export default {
  extensions: ['ts'],
  files: ['{gateway,services/*,deploy/*,scripts}/**/*.test.ts'],
  timeout: '120s',
  // Here, child processes start faster than worker threads do, and no test file can affect the next one through shared state.
  workerThreads: false,
  // This module loads further test files into the process of the file that ava started.
  require: ['./scripts/src/suite/testing/load-together.ts'],
  nodeArguments: [
    // PGlite is WebAssembly. V8's optimising compiler for WebAssembly takes more time than it saves within one test file.
    '--liftoff-only',
    // Disables source maps, which ava enables: with them, building the stack of an error takes several times as long. They are not needed,
    // because types are erased in place.
    '--import=data:text/javascript,process.setSourceMapsEnabled(false)',
  ],
  sortTestFiles: slowestFirst,
  nonSemVerExperiments: { observeRunsFromConfig: true },
  observeRun,
};
