// mdi/home: Material Design Icons by Pictogrammers, Apache-2.0, license Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0)
// iconedge-react wrote this; digest 4c6ba393d82d91fe
import type { SVGProps } from "react";

export default function MdiHome(props: SVGProps<SVGSVGElement>) {
  return (
    <svg xmlns="http://www.w3.org/2000/svg" width="1em" height="1em" viewBox="0 0 24 24" {...props}>
      <path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3L2 12h3v8z" />
    </svg>
  );
}
