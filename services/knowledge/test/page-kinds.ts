/** A kind of page that tenants import into their bases. */
export interface PageKind {
  kind: string;
  html: string;
  /** Texts that the parsed page must contain. */
  wanted: string[];
  /** Texts around the page's content, or hidden texts, that the parsed page must not contain. */
  unwanted: string[];
}

const prose = (about: string) =>
  `<p>${`This passage is about ${about}, and it says in plain words what a customer has to know of it. `.repeat(4)}</p>`;
const siteMenu =
  '<ul><li><a href="/">Start</a></li><li><a href="/shop">All offers</a></li><li><a href="/log-in">Log in</a></li></ul>';
const consent = (attributes: string) =>
  `<div ${attributes}><p>We value your privacy.</p><button>Accept all</button><a href="/privacy">More on cookies</a></div>`;

/** The pages were written for these tests, modelled on real pages. */
export const pageKinds: PageKind[] = [
  {
    kind: 'a product of a shop',
    html: `<title>Desk</title><body><a href="#content" class="skip-link">Skip to content</a><header class="site-header"><a href="/">Logo</a>${siteMenu}</header>
      ${consent('id="onetrust-banner-sdk" role="region"')}<main id="content"><h1>Desk Oslo</h1>${prose('the desk')}<table><caption>Sizes</caption><tr><th>Width</th><th>Price</th></tr><tr><td>120 cm</td><td>199 EUR</td></tr></table>
      <dl><dt>Warranty</dt><dd>five years</dd><dt>Delivery:</dt><dd><p>two weeks</p></dd></dl></main><footer>Imprint of the shop</footer>`,
    wanted: ['# Desk Oslo', 'Sizes', '| 120 cm | 199 EUR |', 'Warranty: five years', 'Delivery: two weeks'],
    unwanted: ['Skip to content', 'All offers', 'privacy', 'Imprint'],
  },
  {
    kind: 'questions that unfold by themselves',
    html: `<h1>Help</h1><details><summary>Where is my order?</summary><p>In your account.</p></details><details><summary>May I send it back?</summary><p>Within 30 days.</p></details>`,
    wanted: ['Where is my order?', 'In your account.', 'May I send it back?', 'Within 30 days.'],
    unwanted: [],
  },
  {
    kind: 'questions that are buttons, with hidden answers',
    html: `<nav>${siteMenu}</nav><main><h1>Questions</h1><h3><button aria-expanded="false" aria-controls="a1">How much is shipping?</button></h3><div id="a1" hidden><p>4 EUR in Germany.</p></div>
      <h3><button aria-expanded="false" aria-controls="a2">Which cards are taken?</button></h3><div id="a2" style="display:none"><p>Visa and Mastercard.</p></div><button>Chat now</button></main>`,
    wanted: ['### How much is shipping?', '4 EUR in Germany.', '### Which cards are taken?', 'Visa and Mastercard.'],
    unwanted: ['All offers', 'Chat now'],
  },
  {
    kind: 'questions that a script of the page unfolds',
    html: `<style>.faq-answer { display: none } .tip { display: none } .tip.open { display: block } .print-only { display: none } @media (max-width: 600px) { .wide { display: none } }</style>
      <h2>Returns</h2><p class="q">Who pays?</p><div class="faq-answer">We do.</div><p class="tip">Keep the box.</p><p class="print-only">Printed from shop.example</p><p class="wide">Only for goods above 10 EUR.</p>`,
    wanted: ['Who pays?', 'We do.', 'Keep the box.', 'Only for goods above 10 EUR.'],
    unwanted: ['Printed from'],
  },
  {
    kind: 'a manual with code',
    html: `<div class="sidebar-nav">${siteMenu}</div><div class="content"><h1>Greeter</h1>${prose('the tool')}<pre><code>npm run greet\n\n\n# not a heading</code></pre><h2>Options</h2><dl><div><dt><code>--name</code></dt><dd>whom to greet</dd></div><div><dt>--loud</dt><dt>-l</dt><dd>in capitals</dd></div></dl>
      <pre>a \`\`\` b</pre></div>`,
    wanted: [
      '```\nnpm run greet\n\n\n# not a heading\n```',
      '--name: whom to greet',
      '--loud, -l: in capitals',
      '````\na ``` b\n````',
    ],
    unwanted: ['All offers'],
  },
  {
    kind: 'news with other news',
    html: `<header><div class="logo">Daily</div><ul><li><a href="/a">Politics</a></li><li><a href="/b">Sports today</a></li></ul></header><article><header><h1>Bridge reopens</h1><p>By Ada, 3 May</p></header>${prose('the bridge')}<h2>What changes</h2>${prose('the traffic')}<figure><figcaption>The new bridge</figcaption></figure></article>
      <div aria-modal="true" class="overlay"><p>Subscribe now</p></div>`,
    wanted: ['# Bridge reopens', 'By Ada, 3 May', 'about the bridge', '## What changes', 'The new bridge'],
    unwanted: ['Sports today', 'Subscribe now'],
  },
  {
    kind: 'opening hours and an address',
    html: `<title>Contact</title><body><div id="menu">${siteMenu}</div><h1>Contact</h1><address>Main Street 5<br>1010 Vienna</address><table><tr><th>Day</th><th>Hours</th></tr><tr><td>Monday</td><td rowspan="2">9 to 5</td></tr><tr><td>Tuesday</td></tr></table><p>Phone: +43 1 234</p>
      <div class="cookie-notice" style="position:fixed">This site uses cookies.</div>`,
    wanted: ['Main Street 5\n1010 Vienna', '| Monday | 9 to 5 |', '| Tuesday | 9 to 5 |', 'Phone: +43 1 234'],
    unwanted: ['All offers', 'uses cookies'],
  },
  {
    kind: 'prices in many tables',
    html: `<main><h1>Prices</h1>${['Haircut', 'Colour', 'Care'].map((name, n) => `<h2>${name}</h2><table><tr><th>Service</th><th>Price</th></tr><tr><td>${name} short</td><td>${20 + n} EUR</td></tr></table>`).join('')}<p>Prices include tax.</p></main>`,
    wanted: ['## Haircut', '| Haircut short | 20 EUR |', '## Care', '| Care short | 22 EUR |', 'Prices include tax.'],
    unwanted: [],
  },
  {
    kind: 'terms with numbered clauses and a list of contents',
    html: `<div role="navigation">${siteMenu}</div><h1>Terms</h1><ol><li><a href="#s1">Scope</a></li><li><a href="#s2">Liability</a></li></ol><h2 id="s1">Scope</h2>${prose('the scope')}<h2 id="s2">Liability</h2>${prose('the liability')}<ol><li>for gross negligence</li><li>for injuries</li></ol><p>On cookies see <a href="/c">our cookie policy</a>.</p>`,
    wanted: ['# Terms', '## Scope', 'about the liability', '2. for injuries', 'On cookies see our cookie policy.'],
    unwanted: ['All offers'],
  },
  {
    kind: 'a start page of cards',
    html: `<div class="navbar"><a href="/">Acme</a> <a href="/p">Products</a> <a href="/c">Careers</a></div><section class="hero"><h1>Pumps for everybody</h1><p>Since 1950.</p></section><div class="cards"><div class="card"><h3>Quiet</h3><p>35 dB at full speed.</p></div><div class="card"><h3>Thrifty</h3><p>Half the power.</p></div></div>
      <div class="modal" role="dialog"><p>Get 10 % off</p></div><div hidden>old text</div>`,
    wanted: ['# Pumps for everybody', 'Since 1950.', '### Quiet', '35 dB at full speed.', 'Half the power.'],
    unwanted: ['Careers', '10 % off', 'old text'],
  },
  {
    kind: 'a thread with answers',
    html: `<div class="topbar"><a href="/">Forum</a><a href="/new">New topic</a></div><h1>Pump leaks</h1><div class="post"><p>My pump leaks at the lid.</p></div><div class="post answer"><p>Turn the ring until it clicks.</p><pre>ring: 3/4 turn</pre></div><div class="post answer"><p>Mine needed a new seal, part 4711.</p></div><ul class="pagination"><li><a href="?2">Next page</a></li></ul>`,
    wanted: ['My pump leaks at the lid.', 'Turn the ring until it clicks.', 'ring: 3/4 turn', 'part 4711'],
    unwanted: ['New topic', 'Next page'],
  },
  {
    kind: 'an old page whose tables arrange it',
    html: `<table><tr><td class="menu"><a href="/">Home</a><br><a href="/x">Guestbook</a></td><td><h1>Beekeeping</h1>${prose('bees')}<table><tr><th>Month</th><th>Work</th></tr><tr><td>April</td><td>look for the queen</td></tr></table></td></tr></table>`,
    wanted: ['# Beekeeping', 'about bees', '| April | look for the queen |'],
    unwanted: ['Guestbook'],
  },
  {
    kind: 'what a restaurant offers, which is called a menu',
    html: `<a href="#menu">Zum Inhalt springen</a><div id="menu" class="menu"><h1>Menu</h1><h2>Soups</h2><ul class="menu-list"><li>Tomato soup 5 EUR</li><li>Onion soup 6 EUR</li></ul><p class="menu-note">All with bread. <a href="/a">Allergens</a></p></div>
      <div id="CybotCookiebotDialog"><p>We value your privacy.</p></div>`,
    wanted: ['Tomato soup 5 EUR', 'Onion soup 6 EUR', 'All with bread.'],
    unwanted: ['Zum Inhalt', 'privacy'],
  },
  {
    kind: 'recipes of cookies, with tabs',
    html: `<article class="cookies recipe"><h1>Cookies</h1><div role="tablist"><button role="tab" aria-controls="t1">For four</button></div><div role="tabpanel" id="t1"><p>200 g of butter.</p></div><div role="tabpanel" id="t2" hidden><p>400 g of butter.</p></div></article><div aria-hidden="true">decoration</div>`,
    wanted: ['# Cookies', '200 g of butter.', '400 g of butter.'],
    unwanted: ['decoration'],
  },
];
