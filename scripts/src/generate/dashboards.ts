import { type Dashboard, dashboards, here } from './dashboard-panels.ts';

/** Returns the chart's dashboards for Grafana, by their path in the checkout. */
export function grafanaDashboards(): { path: string; text: string }[] {
  return Object.entries(dashboards).map(([name, dashboard]) => ({
    path: `charts/parley/files/dashboards/${name}.json`,
    text: `${JSON.stringify(grafana(name, dashboard), null, 2)}\n`,
  }));
}

function grafana(name: string, { title, isOfUnit = false, panels }: Dashboard) {
  const source = { type: 'prometheus', uid: '$datasource' };
  const variable = (variableName: string, label: string, text: string) => ({
    name: variableName,
    type: 'query',
    datasource: source,
    query: { query: text, refId: variableName },
    refresh: 2,
    sort: 1,
    label,
  });
  const variables = [
    { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' },
    variable('namespace', 'namespace', 'label_values(parley_requests_waiting, namespace)'),
    ...(isOfUnit ? [variable('unit', 'unit', `label_values(process_start_time_seconds{${here}}, unit)`)] : []),
  ];
  return {
    uid: `parley-${name}`,
    title,
    tags: ['parley'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: variables },
    links: [
      { type: 'dashboards', tags: ['parley'], title: 'Parley', asDropdown: true, includeVars: true, keepTime: true },
    ],
    panels: panels.map((panel, index) => ({
      id: index + 1,
      type: 'timeseries',
      title: panel.title,
      description: panel.description,
      datasource: source,
      gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
      fieldConfig: {
        defaults: { unit: panel.unit, min: 0, custom: { fillOpacity: 10, showPoints: 'never' } },
        overrides: [],
      },
      options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
      targets: Object.entries(panel.queries).map(([expr, legendFormat], at) => ({
        refId: String.fromCharCode(65 + at),
        datasource: source,
        expr,
        legendFormat,
      })),
    })),
  };
}
