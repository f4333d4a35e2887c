import { certificateFor, testAuthority } from '@parley/testing/test-authority';
import test from 'ava';
import { parseCertificates, wayTo } from './certificates.ts';

test('a certificate is its own authority only where it has signed itself', (t) => {
  const parsed = (pem: string) => parseCertificates(pem)[0] ?? t.fail();
  const own = parsed(certificateFor('localhost', { mayIssue: false }).cert);
  const authority = testAuthority();
  const issued = parsed(authority.issue(['localhost']).cert);
  t.deepEqual(wayTo(own, [], [own]), [own]);
  t.is(wayTo(issued, [], [issued]), undefined);
  t.deepEqual(wayTo(issued, [], [parsed(authority.cert)])?.length, 1);
});
