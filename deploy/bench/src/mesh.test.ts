// A mesh of its own, since the bench starts and configures what it measures.
import { partTest } from './testing/part-test.ts';

partTest('mesh', ['postgres', 'redis', 'kafka']);
