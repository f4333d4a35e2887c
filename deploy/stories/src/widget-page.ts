import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { bundle } from '@parley/demo/bundle';
import { listen } from '@parley/kernel/http/listen';
import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext, TestFn } from 'ava';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { openBrowser } from './browser.ts';
import { createAgent } from './conversation.ts';
import { sdkStart } from './embed.ts';
import type { TestMesh } from './mesh.ts';

export interface PageOptions {
  endpoint: string;
  token: string;
  sessionId: number;
  agentName?: string;
  /** The language of the page. Default `en`. */
  lang?: string;
  labels?: Record<string, string>;
  /** Additional attributes of the element. */
  more?: Record<string, string>;
}

interface AxeResult {
  violations: { id: string; help: string; nodes: { target: unknown }[] }[];
}

/** Serves pages with the built widget, on another origin than the gateway. All tests of a file share one browser. */
export function widgetPages(test: TestFn) {
  let started: Promise<{ browser: Browser; origin: string }> | undefined;
  const closers: (() => unknown)[] = [];
  const pages = new Map<string, string>();
  test.after.always('the browser is closed', async () => {
    for (const close of closers.toReversed()) await close();
  });

  async function start() {
    const script = await bundle('parley-chat.js');
    const server = createServer(({ url = '' }, response) => {
      const html = pages.get(url);
      // The strictest Content-Security-Policy that still allows the widget.
      response.setHeader(
        'content-security-policy',
        "default-src 'none'; script-src 'self'; connect-src *; style-src 'self'; media-src blob:",
      );
      if (url === '/parley-chat.js') response.setHeader('content-type', 'text/javascript').end(script);
      else if (html !== undefined) response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
      else response.writeHead(404).end();
    });
    const origin = `http://${await listen(server)}`;
    closers.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const browser = await openBrowser();
    closers.push(() => browser.close());
    return { browser, origin };
  }

  /** Opens a page with the widget in a separate browser profile, which is closed after the test. */
  async function visit(
    t: ExecutionContext,
    mesh: TestMesh,
    url: string,
    options: BrowserContextOptions = {},
    script?: string,
  ) {
    started ??= start();
    const { browser, origin } = await started;
    const context = await browser.newContext({
      extraHTTPHeaders: { 'x-forwarded-for': mesh.visitor().ip }, // rate limits apply to client addresses
      ...options,
    });
    t.teardown(() => context.close());
    if (script !== undefined) await context.addInitScript(script);
    const errors: string[] = [];
    const posted: string[] = [];
    const requests: string[] = [];
    context.on('request', (request) => {
      posted.push(request.postData() ?? '');
      if (request.method() === 'POST') requests.push(request.url());
    });
    async function tab() {
      const page = await context.newPage();
      page.on('pageerror', (error) => errors.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error' && !isNetwork(message.text())) errors.push(message.text());
      });
      await page.goto(new URL(url, origin).href);
      return chatIn(page);
    }
    return { ...(await tab()), tab, errors, posted, requests };
  }

  return {
    visit,
    /** Opens a page of this site with the widget. @param script runs before the page's own scripts */
    open(t: ExecutionContext, mesh: TestMesh, options: PageOptions, browser?: BrowserContextOptions, script?: string) {
      const path = `/${pages.size}`;
      pages.set(path, htmlOf(options));
      return visit(t, mesh, path, browser, script);
    },
  };
}

/** Reports whether the browser itself logged the message because a test cut the network. */
function isNetwork(text: string): boolean {
  return /net::ERR|WebSocket connection|Failed to load resource/u.test(text);
}

function chatIn(page: Page) {
  const part = (selector: string, options?: { hasText: string }) => page.locator(`parley-chat ${selector}`, options);
  const log = part('.log');
  const text = () => log.innerText();
  return {
    page,
    part,
    log,
    text,
    async send(message: string): Promise<void> {
      await part('textarea').fill(message);
      await part('textarea').press('Enter');
    },
    /** Waits until the conversation shows all of these texts. */
    shows: (...texts: string[]) =>
      eventually(
        `the chat shows ${texts.join(', ')}`,
        async () => {
          const shown = await text();
          return texts.every((each) => shown.includes(each));
        },
        { timeoutMs: 30_000 },
      ).catch(async (error: unknown) => {
        throw new Error(`${String(error)}\n${await text()}`, { cause: error });
      }),
    /** Returns how often the conversation shows a text. */
    count: async (wanted: string) => (await text()).split(wanted).length - 1,
    /** Returns the `href`, `rel` and `target` of each link in the conversation. */
    links: () =>
      page.evaluate<string[][]>(
        '[...document.querySelector("parley-chat").shadowRoot.querySelectorAll(".log a")].map((it) => [it.href, it.rel, it.target])',
      ),
    /** Returns what is announced to screen readers, at most the last two texts. */
    announced: () => part('[aria-live=polite]').innerText(),
    /** Returns the accessibility problems that axe finds. */
    async problems(): Promise<string[]> {
      const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');
      await page.evaluate(axe);
      const { violations } = await page.evaluate<AxeResult>('axe.run()');
      return violations.map(
        ({ id, help, nodes }) => `${id}: ${help} ${JSON.stringify(nodes.map(({ target }) => target))}`,
      );
    },
  };
}

/** Starts an embedded session of a new agent, for which the test's model responds. */
export async function startEmbedded(mesh: TestMesh, agent: Record<string, unknown> = {}) {
  const owner = await mesh.person();
  const agentId = await createAgent(owner, { name: 'Robin', openingGreeting: 'Greet them.', ...agent });
  mesh.model.answer('Greet them.', { text: 'Hello, I am Robin.' });
  const server = await owner.withApiKey();
  const { sessionId, avatarToken: token } = await sdkStart(server, { agentId });
  return { owner, agentId, server, sessionId, token, endpoint: mesh.url };
}

function htmlOf({
  endpoint,
  token,
  sessionId,
  agentName = 'Robin',
  lang = 'en',
  labels = {},
  more = {},
}: PageOptions): string {
  const values = {
    endpoint,
    token,
    'session-id': String(sessionId),
    'agent-name': agentName,
    labels: JSON.stringify(labels),
    ...more,
  };
  const attributes = Object.entries(values).map(
    ([name, value]) => `${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`,
  );
  return `<!doctype html>
<html lang="${lang}" dir="${lang === 'ar' ? 'rtl' : 'ltr'}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Lamps</title>
<script src="/parley-chat.js" defer></script></head>
<body><main><h1>Lamps</h1><parley-chat ${attributes.join(' ')}></parley-chat></main></body></html>`;
}
