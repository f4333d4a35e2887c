import test from 'ava';
import { guard, loopback, server } from './guarded.ts';

const spellings = (port: number) => [
  `http://127.0.0.1:${port}/`,
  `http://127.1:${port}/`,
  `http://127.0.1:${port}/`,
  `http://2130706433:${port}/`,
  `http://0177.0.0.1:${port}/`,
  `http://0x7f.0.0.1:${port}/`,
  `http://0x7f000001:${port}/`,
  `http://017700000001:${port}/`,
  `http://127.0.0.1.:${port}/`,
  `http://１２７.０.０.１:${port}/`,
  `http://①②⑦.⓪.⓪.①:${port}/`,
  `http://127。0。0。1:${port}/`,
  `http://%31%32%37.0.0.1:${port}/`,
  `http://0:${port}/`,
  `http://0.0.0.0:${port}/`,
  `http://[::1]:${port}/`,
  `http://[::]:${port}/`,
  `http://[0:0:0:0:0:0:0:1]:${port}/`,
  `http://[::ffff:127.0.0.1]:${port}/`,
  `http://[::ffff:7f00:1]:${port}/`,
  `http://[::127.0.0.1]:${port}/`,
  `http://[64:ff9b::127.0.0.1]:${port}/`,
  `http://[2002:7f00:1::]:${port}/`,
  `http://[2001:0:7f00:1::]:${port}/`,
  `http://[2606:4700::5efe:127.0.0.1]:${port}/`,
  `http:127.0.0.1:${port}/`,
  `http:\\\\127.0.0.1:${port}\\`,
  ` http://127.0.0.1:${port}/ `,
  `ht\ntp://127.0.\n0.1:${port}/`,
  'http://169.254.169.254/latest/meta-data/',
  'http://[fd00:ec2::254]/',
];

test('a literal address that is not public is refused in every spelling, on save and when called, before anything is sent', async (t) => {
  const inside = await server(t, (_, response) => void response.end('inside'));
  const { urlProblem, refusal } = await guard(t, { dns: loopback });
  for (const url of spellings(inside.port)) {
    t.is(urlProblem(url), 'must have a host with a public address', url);
    t.is(await refusal(url), 'invalid URL_REFUSED', url);
  }
  t.is(inside.connections, 0);
});

test('scheme, user info, port and form of a URL are refused on save and when called', async (t) => {
  const { urlProblem, refusal } = await guard(t, { ports: ['80', '443', '8000-8080'] });
  const problems: Record<string, string> = {
    'ftp://example.com/': 'must begin with http:// or https://',
    'file:///etc/passwd': 'must begin with http:// or https://',
    'gopher://example.com/': 'must begin with http:// or https://',
    'data:text/html,a': 'must begin with http:// or https://',
    'javascript:alert(1)': 'must begin with http:// or https://',
    'ws://example.com/': 'must begin with http:// or https://',
    'http://user:secret@example.com/': 'must have no user or password',
    'http://user@example.com/': 'must have no user or password',
    'http://@example.com/': 'must have no user or password',
    'http://:@example.com/': 'must have no user or password',
    'http://example.com:22/': 'must not use port 22',
    'http://example.com:6379/': 'must not use port 6379',
    'https://example.com:8081/': 'must not use port 8081',
    'http://': 'must be a URL',
    'http://exa mple.com/': 'must be a URL',
    '//example.com/': 'must be a URL',
    'http://[fe80::1%25eth0]/': 'must be a URL',
    'http://256.256.256.256/': 'must be a URL',
    'http://./': 'must have a host',
  };
  for (const [url, problem] of Object.entries(problems)) {
    t.is(urlProblem(url), problem, url);
    t.is(await refusal(url), 'invalid URL_REFUSED', url);
  }
  for (const url of [
    'http://example.com',
    'https://example.com/a@b?c@d#e@f',
    'http://public.example\\@127.0.0.1/',
    'https://example.com:80/',
    'http://example.com:8042/',
  ])
    t.is(urlProblem(url), undefined, url);
});

test('a name is called only if all its addresses are public, and a name without addresses gets the same error', async (t) => {
  const inside = await server(t, (_, response) => void response.end('inside'));
  const answers: Record<string, { addresses?: string[]; aliases?: string[]; code?: number }> = {
    'private.example': { addresses: ['127.0.0.1'] },
    'mixed.example': { addresses: ['93.184.216.34', '127.0.0.1'] },
    'alias.example': { aliases: ['db.internal'], addresses: ['127.0.0.1'] },
    'chain.example': { aliases: ['a.example', 'b.example', 'c.internal'], addresses: ['10.0.0.1'] },
    'metadata.example': { addresses: ['169.254.169.254'] },
    'xn--bcher-kva.example': { addresses: ['127.0.0.1'] },
    'absent.example': { code: 3 },
    'empty.example': {},
  };
  const { refusal, urlProblem, asked } = await guard(t, {
    dns: ({ name, type }) => (type === 'A' ? answers[name] : {}),
  });
  const names = [...Object.keys(answers), 'Private.Example.', 'bücher.example'];
  for (const name of names) {
    t.is(urlProblem(`http://${name}:${inside.port}/`), undefined);
    t.is(await refusal(`http://${name}:${inside.port}/`), 'invalid HOST_NOT_PUBLIC', name);
  }
  t.is(asked('private.example', 'A'), 2);
  t.is(inside.connections, 0);
});

test('a private IPv6 address among public IPv4 ones refuses the name', async (t) => {
  const { refusal } = await guard(t, {
    dns: ({ type }) => ({ addresses: [type === 'A' ? '93.184.216.34' : '::ffff:7f00:1'] }),
  });
  t.is(await refusal('http://two.example/'), 'invalid HOST_NOT_PUBLIC');
});

test('a call resolves a name once, and uses the checked address even if DNS would return another one later', async (t) => {
  const inside = await server(t, (_, response) => void response.end('inside'));
  const { call, refusal, asked } = await guard(t, {
    allowlist: ['127.0.0.1'],
    dns: ({ type, earlier }) => (type === 'AAAA' ? {} : { addresses: [earlier === 0 ? '127.0.0.1' : '10.0.0.1'] }),
  });
  const { body } = await call(`http://rebinding.example:${inside.port}/`);
  t.is(body.toString(), 'inside');
  t.is(asked('rebinding.example', 'A'), 1);
  t.is(await refusal(`http://rebinding.example:${inside.port}/`), 'invalid HOST_NOT_PUBLIC');
  t.is(inside.connections, 1);
});

test('a name that was public at first is refused once it is not', async (t) => {
  const inside = await server(t, (_, response) => void response.end('inside'));
  const { refusal } = await guard(t, {
    dns: ({ type, earlier }) => (type === 'AAAA' ? {} : { addresses: [earlier === 0 ? '240.0.0.1' : '127.0.0.1'] }),
  });
  for (let attempt = 0; attempt < 3; attempt += 1)
    t.is(await refusal(`http://rebinding.example:${inside.port}/`), 'invalid HOST_NOT_PUBLIC');
  t.is(inside.connections, 0);
});

test('when one address refuses connections, the next one is called', async (t) => {
  const site = await server(t, (_, response) => void response.end('here'));
  const { refusal } = await guard(t, {
    allowlist: ['127.0.0.1', '127.0.0.2', '::1'],
    dns: ({ type }) => ({ addresses: type === 'A' ? ['127.0.0.2', '127.0.0.1'] : ['::1'] }),
  });
  t.is(await refusal(`http://two.example:${site.port}/`), 'answered 200');
});

test('the Host header is the name, and the request goes to the checked address', async (t) => {
  const site = await server(t, (_, response) => void response.end('here'));
  const { call } = await guard(t, { allowlist: ['127.0.0.0/8'], dns: loopback });
  t.like(await call(`http://Site.Example:${site.port}/a?b=c#d`), { status: 200, body: Buffer.from('here') });
  t.like(site.requests[0], { url: '/a?b=c' });
  t.like(site.requests[0]?.headers, { host: `site.example:${site.port}`, connection: 'close' });
});

test('a DNS server that fails, never answers, or truncates makes the host unreachable', async (t) => {
  const { refusal } = await guard(t, {
    dns: ({ name }) =>
      name === 'silent.example'
        ? undefined
        : { code: name === 'failing.example' ? 2 : 0, truncated: name === 'cut.example' },
  });
  t.is(await refusal('http://failing.example/'), 'unavailable REMOTE_UNREACHABLE');
  t.is(await refusal('http://cut.example/'), 'unavailable REMOTE_UNREACHABLE');
  t.is(await refusal('http://silent.example/', { timeoutMs: 300 }), 'unavailable REMOTE_TOO_SLOW');
});

test('hosts and networks of the allowlist are called, and no other', async (t) => {
  const site = await server(t, (_, response) => void response.end('here'));
  const { refusal, urlProblem } = await guard(t, {
    allowlist: ['localhost', '127.0.0.0/24', '::1'],
    dns: () => ({ addresses: ['10.0.0.1'] }),
  });
  t.is(await refusal(`http://localhost:${site.port}/`), 'answered 200');
  t.is(await refusal(`http://127.0.0.1:${site.port}/`), 'answered 200');
  t.is(urlProblem('http://[::1]/'), undefined);
  t.is(await refusal(`http://127.0.1.1:${site.port}/`), 'invalid URL_REFUSED');
  t.is(await refusal(`http://sub.localhost:${site.port}/`), 'invalid HOST_NOT_PUBLIC');
});

test('the log has host and reason of a failed call, without path, query and address; the error names no address', async (t) => {
  const { call, logged } = await guard(t, { dns: () => ({ addresses: ['10.1.2.3'] }) });
  const error = await t.throwsAsync(call('http://a.example/path?token=secret'));
  t.is(error?.message, 'The URL must have a host with a public address');
  t.deepEqual(logged, [{ level: 30, host: 'a.example', kind: 'HOST_NOT_PUBLIC', msg: 'outbound call failed' }]);
});
