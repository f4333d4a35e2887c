// A mesh of its own for each part, since the bench starts and configures what it measures.
import { partTest } from './testing/part-test.ts';

for (const part of ['logins', 'gateway']) partTest(part, []);
