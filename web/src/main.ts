import { startApp } from "./ui/index";
import "./style.css";

const root = document.getElementById("app");
if (root) startApp(root, new URL(window.location.href));
