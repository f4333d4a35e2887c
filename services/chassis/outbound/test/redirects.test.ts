import test from 'ava';
import { guard, loopback, server } from './guarded.ts';

const allowed = { allowlist: ['127.0.0.1'], dns: loopback };

test('a redirect is refused unless the call follows some', async (t) => {
  const site = await server(t, (_, response) => void response.writeHead(302, { location: '/next' }).end());
  const { refusal } = await guard(t, allowed);
  t.is(await refusal(`http://127.0.0.1:${site.port}/`), 'invalid REDIRECT_REFUSED');
  t.is(site.requests.length, 1);
});

test('redirects are followed up to the limit, also in a loop', async (t) => {
  const site = await server(t, ({ url }, response) => {
    const step = Number(url?.slice(1));
    if (step === 0) response.end('arrived');
    else response.writeHead(302, { location: `/${step - 1}` }).end();
  });
  const loop = await server(t, (_, response) => void response.writeHead(301, { location: '/' }).end());
  const { call, refusal } = await guard(t, allowed);
  const { body, url } = await call(`http://127.0.0.1:${site.port}/3`, { redirects: 3 });
  t.is(body.toString(), 'arrived');
  t.is(url.pathname, '/0');
  t.is(await refusal(`http://127.0.0.1:${site.port}/4`, { redirects: 3 }), 'invalid REDIRECT_REFUSED');
  t.is(await refusal(`http://127.0.0.1:${loop.port}/`, { redirects: 3 }), 'invalid REDIRECT_REFUSED');
  t.is(loop.requests.length, 4);
});

test('each redirect is checked like the first URL: addresses, names, scheme, port and user info', async (t) => {
  const inside = await server(t, (_, response) => void response.end('inside'));
  let location = '';
  const site = await server(t, (_, response) => void response.writeHead(302, { location }).end());
  const { refusal } = await guard(t, {
    allowlist: ['127.0.0.1'],
    ports: [site.port, inside.port],
    dns: ({ name, type }) =>
      type === 'AAAA' ? {} : { addresses: [name === 'inside.example' ? '127.0.0.2' : '127.0.0.1'] },
  });
  const targets: [string, string][] = [
    [`http://127.0.0.2:${inside.port}/`, 'invalid REDIRECT_REFUSED'],
    [`//127.0.0.2:${inside.port}/`, 'invalid REDIRECT_REFUSED'],
    [`http://2130706434:${inside.port}/`, 'invalid REDIRECT_REFUSED'],
    [`http://[::ffff:127.0.0.2]:${inside.port}/`, 'invalid REDIRECT_REFUSED'],
    [`//inside.example:${inside.port}/`, 'invalid HOST_NOT_PUBLIC'],
    [`http://inside.example:${inside.port}/`, 'invalid HOST_NOT_PUBLIC'],
    [`http://user:secret@127.0.0.1:${inside.port}/`, 'invalid REDIRECT_REFUSED'],
    ['http://127.0.0.1:6379/', 'invalid REDIRECT_REFUSED'],
    ['ftp://127.0.0.1/', 'invalid REDIRECT_REFUSED'],
    ['file:///etc/passwd', 'invalid REDIRECT_REFUSED'],
    ['gopher://127.0.0.1/', 'invalid REDIRECT_REFUSED'],
    ['http://[', 'invalid REDIRECT_REFUSED'],
  ];
  for (const [to, refused] of targets) {
    location = to;
    t.is(await refusal(`http://site.example:${site.port}/`, { redirects: 3 }), refused, to);
  }
  t.is(inside.connections, 0);
  location = `//other.example:${inside.port}/`;
  t.is(await refusal(`http://site.example:${site.port}/`, { redirects: 3 }), 'answered 200');
});

test('another origin gets no credential and no header that may hold one, also after a redirect back', async (t) => {
  const site = await server(t, ({ url }, response) => {
    const location = {
      '/': '/same',
      '/same': `http://b.example:${site.port}/other`,
      '/other': `http://a.example:${site.port}/back`,
    };
    const next = location[url as keyof typeof location];
    if (next) response.writeHead(302, { location: next }).end();
    else response.end('done');
  });
  const { call } = await guard(t, allowed);
  const headers = {
    Authorization: 'Bearer secret',
    Cookie: 'a=secret',
    'X-Api-Key': 'secret',
    'X-Trace': 'secret',
    Accept: 'text/html',
  };
  await call(`http://a.example:${site.port}/`, { headers, redirects: 3 });
  const secretsOf = (path: string) => {
    const sent = site.requests.find(({ url }) => url === path)?.headers ?? {};
    return Object.keys(sent).filter((name) => String(sent[name]).includes('secret'));
  };
  t.deepEqual(secretsOf('/'), ['authorization', 'cookie', 'x-api-key', 'x-trace']);
  t.deepEqual(secretsOf('/same'), ['authorization', 'cookie', 'x-api-key', 'x-trace']);
  t.deepEqual(secretsOf('/other'), []);
  t.deepEqual(secretsOf('/back'), []);
  t.is(site.requests.at(-1)?.headers.accept, 'text/html');
});

test('a redirected POST becomes a GET or keeps its body, which goes to no other origin', async (t) => {
  const site = await server(t, ({ url = '' }, response) => {
    if (url === '/end') response.end('end');
    else if (url === '/away') response.writeHead(307, { location: `http://b.example:${site.port}/end` }).end();
    else response.writeHead(Number(url.slice(1)), { location: '/end' }).end();
  });
  const { call, refusal } = await guard(t, allowed);
  const post = { method: 'POST', body: 'a=b', headers: { 'content-type': 'text/plain' }, redirects: 1 } as const;
  const methods: Record<number, string> = { 301: 'GET', 302: 'GET', 303: 'GET', 307: 'POST', 308: 'POST' };
  for (const [status, method] of Object.entries(methods)) {
    await call(`http://a.example:${site.port}/${status}`, post);
    const last = site.requests.at(-1);
    t.like(last, { url: '/end', method }, status);
    t.is(last?.headers['content-type'], method === 'GET' ? undefined : 'text/plain', status);
  }
  const before = site.requests.length;
  t.is(await refusal(`http://a.example:${site.port}/away`, post), 'invalid REDIRECT_REFUSED');
  t.is(site.requests.length, before + 1);
});

test('headers that would change the connection or add others are refused', async (t) => {
  const site = await server(t, (_, response) => void response.end('here'));
  const { refusal } = await guard(t, allowed);
  const refused = [
    ['Host', 'internal'],
    ['Content-Length', '0'],
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'upgrade'],
    ['Proxy-Authorization', 'a'],
    ['X-A', 'a\r\nX-B: b'],
    ['X-A', 'a\0'],
    ['X-A\r\nX-B', 'b'],
    ['', 'a'],
    ['X A', 'a'],
  ] as const;
  for (const [name, value] of refused)
    t.is(await refusal(`http://127.0.0.1:${site.port}/`, { headers: { [name]: value } }), 'invalid undefined', name);
  t.is(site.connections, 0);
  t.is(await refusal(`http://127.0.0.1:${site.port}/`, { headers: { 'X-A': 'a b\tü' } }), 'answered 200');
});
