import { committedKeysMigration } from '@parley/postgres/committed-keys';

export const committedKeys = committedKeysMigration('003-committed-keys');
