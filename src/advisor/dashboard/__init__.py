"""The dashboard: Streamlit widgets in, an answer out. It holds widgets and layout only: no arithmetic, no table verbs."""
