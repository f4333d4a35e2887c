import { join } from 'node:path';

/** Prometheus' own program, which evaluates alerts on a test's series. */
export const promtool = {
  name: 'promtool',
  version: "the distribution's",
  folder: 'promtool-1',
  scripts: join(import.meta.dirname, 'promtool'),
};
