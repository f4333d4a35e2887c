import { join } from 'node:path';

/** Programs that check the Dockerfile and the Compose file; neither needs Docker. */
export const dockerTools = {
  name: 'hadolint and Docker Compose',
  version: '2.15.1 and 5.6.1',
  folder: 'docker-tools-1',
  scripts: join(import.meta.dirname, 'docker-tools'),
};
