import test from 'ava';
import { enginesOf } from './steps.ts';

const real = {
  TEST_REDIS_URL: 'redis://127.0.0.1:1',
  TEST_KAFKA_BROKERS: '127.0.0.1:2',
  TEST_POSTGRES_URL: 'postgres://127.0.0.1:3/a',
  TEST_DATABASE_URL: 'postgres://127.0.0.1:3/a',
  TEST_S3_ENDPOINT: 'http://127.0.0.1:4',
  TEST_S3_BUCKET: 'a',
};

test('each run of tests is named by the engines that it has, the real ones once', (t) => {
  t.is(enginesOf('services/agent', {}), 'small engines');
  t.is(enginesOf('deploy/local', {}), 'small engines, one process');
  t.is(enginesOf('services/chassis', real), 'small engines, PostgreSQL, Redis, Kafka, S3');
  t.is(enginesOf('services/chassis', { TEST_REDIS_URL: real.TEST_REDIS_URL }), 'small engines, Redis');
  t.is(enginesOf('scripts', real), 'PostgreSQL, Redis, Kafka, S3');
});

test('tests that use no engine name none', (t) => {
  t.is(enginesOf('protos', {}), undefined);
});
