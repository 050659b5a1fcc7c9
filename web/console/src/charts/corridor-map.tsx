import { geoCentroid, geoNaturalEarth1, geoPath } from 'd3-geo';
import { scaleSqrt } from 'd3-scale';
import type { Feature, FeatureCollection, Geometry } from 'geojson';
import { type ReactNode, useId } from 'react';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import worldText from 'world-atlas/countries-110m.json?raw';
import type { Corridor } from '../pages/overview/figures.ts';
import { countryNumbers } from './country-numbers.ts';
import './charts.css';

const [width, height] = [720, 340];
type World = Topology<{ countries: GeometryCollection<{ name: string }> }>;

const world = JSON.parse(worldText) as World;
const countries: FeatureCollection<Geometry, { name: string }> = feature(
  world,
  world.objects.countries,
);
const shown = countries.features.filter(({ id }) => id !== '010');
const projection = geoNaturalEarth1().fitSize([width, height], {
  type: 'FeatureCollection',
  features: shown,
});
const path = geoPath(projection).digits(1);
const land = shown.map((country) => ({ id: String(country.id), d: path(country) ?? '' }));
const places = new Map(shown.map((country) => [String(country.id), findPlace(country)]));

type Place = [number, number];

/** Of its largest part: the middle of France with its overseas parts would be in the sea. */
function findPlace(country: Feature): Place {
  const { geometry } = country;
  if (geometry.type !== 'MultiPolygon') return geoCentroid(country);
  const parts = geometry.coordinates.toSorted(
    (one, other) => (other[0]?.length ?? 0) - (one[0]?.length ?? 0),
  );
  return geoCentroid({ type: 'Polygon', coordinates: parts[0] ?? [] });
}

function place(country: string): Place | undefined {
  return places.get(countryNumbers.get(country) ?? '');
}

/** Where the money goes. The table of corridors beside it says the same in numbers. */
export function CorridorMap({ corridors }: { corridors: readonly Corridor[] }): ReactNode {
  const id = useId();
  const flows = sumFlows(corridors);
  const most = Math.max(1, ...flows.map(({ count }) => count));
  const radius = scaleSqrt([0, most], [3, 13]);
  const served = new Set(flows.map(({ country }) => countryNumbers.get(country)));
  return (
    <svg className="map" viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={id}>
      <title id={id}>Map of corridors: {flows.length} destinations</title>
      {land.map((country) => (
        <path
          key={country.id}
          d={country.d}
          className={served.has(country.id) ? 'land served' : 'land'}
        />
      ))}
      {flows.map(({ country, count }) => {
        const to = place(country);
        if (to === undefined) return null;
        const [x = 0, y = 0] = projection(to) ?? [];
        return (
          <circle key={country} cx={x} cy={y} r={radius(count)}>
            <title>{`${country}: ${count}`}</title>
          </circle>
        );
      })}
    </svg>
  );
}

type Flow = { country: string; count: number };

function sumFlows(corridors: readonly Corridor[]): Flow[] {
  const counts = new Map<string, number>();
  for (const { country, committed } of corridors) {
    counts.set(country, committed + (counts.get(country) ?? 0));
  }
  return [...counts].map(([country, count]) => ({ country, count }));
}
