import { join } from 'node:path';

/** Prometheus' own program that evaluates alerts on series of a test. */
export const promtool = {
  name: 'promtool',
  version: "the distribution's",
  folder: 'promtool-1',
  scripts: join(import.meta.dirname, 'promtool'),
};
