import test from 'ava';
import { checkCertificates } from './check-certificates.ts';

test('a production process must verify certificates', (t) => {
  const NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.notThrows(() => checkCertificates({ NODE_TLS_REJECT_UNAUTHORIZED }));
  t.notThrows(() => checkCertificates({ NODE_TLS_REJECT_UNAUTHORIZED: '1', NODE_ENV: 'production' }));
  t.throws(() => checkCertificates({ NODE_TLS_REJECT_UNAUTHORIZED, NODE_ENV: 'production' }), {
    message: /NODE_TLS_REJECT_UNAUTHORIZED: is 0, so no certificate would be verified/u,
  });
});
