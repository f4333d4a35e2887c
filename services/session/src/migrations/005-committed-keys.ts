import { committedKeysMigration } from '@parley/postgres/committed-keys';

export const committedKeys = committedKeysMigration('005-committed-keys');
